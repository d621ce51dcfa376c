"""What benchmarks, other packages, plugins and users declare: found, loaded and named."""
