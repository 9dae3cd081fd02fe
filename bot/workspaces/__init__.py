"""Many workspaces: installations by OAuth, their encrypted tokens, and which one a request or a question is for."""
