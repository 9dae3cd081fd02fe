"""Many workspaces: installations by OAuth, their encrypted tokens, and the workspace of each request or question."""
