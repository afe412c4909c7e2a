"""What d2lbook lacks: one module a stage of the pipeline from Markdown to book."""
