"""What every guilds program shares: the contract of the wire, and the mechanisms several helpers stand on.

Nothing is imported here, since a helper process pays for each import: take the module that has what is needed.
"""
