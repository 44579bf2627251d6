// Package storetest checks an implementation of [store.Store] against the
// contract. A store's own test is
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return open(t) })
//	}
package storetest
