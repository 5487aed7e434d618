"""The development stage: what is fitted and chosen on public sites before a study is locked."""
