"""The tools that guilds-browser serves, a module each, with a function of the tool's name.

A tool gets a BrowserCall and its arguments; it gives its own line or lines, or those and the offsets of its cuts.
"""
