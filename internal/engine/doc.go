// Package engine is the way from a request to an artifact: what the request means,
// whether it can be cached, where its artifact is, and who builds it if it is
// nowhere. It makes no live object. Whoever owns the thread and the driver drives it:
//
//	t, err := s.Begin(ctx, request)
//	defer t.Abandon()
//	for _, g := range t.Groups() {
//		switch step := g.Next(ctx); step.Kind {
//		case engine.Hit: // load step.Artifact, then g.Loaded(took), or g.Rejected(ctx, err) and Next again
//		case engine.Wait: // wait for step.Ready, then Next again
//		case engine.Build, engine.Bypass: // build, then g.Built(outcome) or g.Failed(err, took)
//		}
//	}
//
// Begin works out what a request means: which header files it reads, the groups of equal
// devices, the recipe and the key of each. The engine asks no driver, opens no library and
// reads no variable; it asks its [Host]. It reads files through package deps and the stores.
//
// No method but [Group.Drive], which takes these steps for a caller that may wait, waits for
// another build: where one is under way, Next returns Wait. What has to look at files or at
// the store does so on the caller's goroutine; what is stored is stored in the background. A
// transaction that ends in whatever way holds nothing: Abandon gives back what is left.
package engine
