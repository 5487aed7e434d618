"""Methods: who decides in a campaign. One file a method; see docs/add-a-method.md."""
