"""Several replicas work at the same time: objects are divided into shards, and each shard has one replica."""
