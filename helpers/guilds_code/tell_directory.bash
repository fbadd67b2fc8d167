# Read by bash before a command (BASH_ENV) where tracing is not permitted.
unset BASH_ENV
trap '{ builtin pwd -P >"$GUILD_DIRECTORY_FILE"; } 2>/dev/null' EXIT
