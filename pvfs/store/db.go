package store

import _ "go.etcd.io/bbolt" // the metadata's file
