"""Modals and the App Home: each module builds one view, opens it, and handles actions in it."""
