"""News of a category: what is asked, how replies become stories, and which stories are the same one."""
