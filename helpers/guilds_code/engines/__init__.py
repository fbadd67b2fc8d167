"""The engines behind the search tools. Nothing is imported here: a call pays for each import."""
