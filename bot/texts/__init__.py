"""The texts of surfaces that do not keep them where they are shown yet; imports nothing else of the app."""
