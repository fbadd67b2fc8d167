"""guilds_client: the orchestrator's side."""
