"""guilds-git-credential: git's credential helper for the tokens of a run."""
