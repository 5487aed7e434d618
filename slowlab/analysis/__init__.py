"""Statistics: pure functions of arrays first, labelled tables around them.

Nothing here reads a study's files or draws. Modules are imported one by one where they are used.
"""
