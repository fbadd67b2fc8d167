"""guilds-browser: eight tools on the agent's own Chrome, through a broker that keeps the connection warm.

What a call costs is the stub (`__main__`, `forward`), which only carries a request to the broker's socket and its
answer back. All the rest runs in the broker.
"""
