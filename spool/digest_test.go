package spool_test

import (
	"crypto/sha256"

	"github.com/kernstash/kernstash/key"
)

func digest(b []byte) key.Digest { return sha256.Sum256(b) }
