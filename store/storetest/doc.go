// Package storetest checks an implementation of [store.Store], and of the other
// interfaces of package store that it has, against the contract. A store's own
// test is
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return open(t) })
//	}
package storetest
