package s3

import (
	"net/url"
	"time"
)

// Endpoint returns the server's address, as a parameter.
func Endpoint(o *Objects) string { return url.QueryEscape(o.client.EndpointURL().String()) }

// Keys returns the credentials.
func Keys(o *Objects) (Options, error) {
	v, err := o.keys.GetWithContext(nil)
	return Options{AccessKey: v.AccessKeyID, SecretKey: v.SecretAccessKey}, err
}

// Host returns the server's address.
func Host(o *Objects) string { return o.client.EndpointURL().String() }

// Holds reports whether a lease of this ttl and age, both -1 where they are not known, keeps
// out who asks for one of want.
func Holds(ttl, age, want time.Duration) bool {
	return leaseState{etag: "etag", ttl: ttl, age: age}.holds(want)
}

// NotLinkLocal keeps proxies from the places that have a machine's credentials.
var NotLinkLocal = notLinkLocal

// ParseLease returns the token and the ttl of a lease.
var ParseLease = parseLease

// SetTimeout says how long a call without a deadline takes.
func SetTimeout(o *Objects, d time.Duration) { o.timeout = d }
