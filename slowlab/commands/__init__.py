"""The subcommands of ``slowlab``. Modules here import the libraries they need when they run."""
