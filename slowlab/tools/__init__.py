"""Public analysis tools: pure functions of the task and of what an agent has already seen."""
