//go:build !linux

package client

import (
	"context"
	"errors"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// There is an agent on Linux only.

func (c *Client) check(string) error { return errors.ErrUnsupported }

// Get returns a miss.
func (c *Client) Get(context.Context, key.Key) (*store.Entry, error) { return nil, missed(ErrAbsent) }

// Put returns ErrAbsent.
func (c *Client) Put(context.Context, *store.Entry) (store.PutResult, error) {
	return store.Failed, ErrAbsent
}

// Delete returns ErrAbsent.
func (c *Client) Delete(context.Context, key.Key) error { return ErrAbsent }

// GetBlob returns a miss.
func (c *Client) GetBlob(context.Context, store.Kind, key.Digest) ([]byte, error) {
	return nil, missed(ErrAbsent)
}

// PutBlob returns ErrAbsent.
func (c *Client) PutBlob(context.Context, store.Kind, key.Digest, []byte) error { return ErrAbsent }

// Prefetch returns ErrAbsent.
func (c *Client) Prefetch(context.Context, string) error { return ErrAbsent }

func (c *Client) tryLock(context.Context, key.Key) (func(), error) { return nil, ErrAbsent }

// Status returns ErrAbsent.
func (c *Client) Status(context.Context, any) (string, error) { return "", ErrAbsent }
