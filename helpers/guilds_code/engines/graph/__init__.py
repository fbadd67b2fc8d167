"""The code graph: a repository's files, symbols and references, brought up to date before every answer.

`graph` is the way in. Nothing is imported here: a call pays for each import.
"""
