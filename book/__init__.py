"""The stages of the pipeline from Markdown to book that d2lbook lacks."""
