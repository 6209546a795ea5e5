// What client-go's informer parts cost, one at a time: the same objects and the same work as in benches/benches, so that
// both can be run one after the other on one machine (benches/side-by-side).
package bench

import (
	"fmt"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const (
	objectCount  = 10_000
	perNamespace = 100
	changes      = 100
	events       = 1000
)

// object is object `at` of the benches' library.
func object(at int, version string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprintf("team-%d", at/perNamespace), Name: fmt.Sprintf("settings-%d", at),
		UID: types.UID(fmt.Sprintf("uid-%d", at)), ResourceVersion: version,
		Labels: map[string]string{"app": fmt.Sprintf("app-%d", at%10), "node": fmt.Sprintf("node-%d", at%100)},
	}}
}

func objects(n int, version string) []*v1.ConfigMap {
	all := make([]*v1.ConfigMap, n)
	for at := range all {
		all[at] = object(at, version)
	}
	return all
}

func filled(b *testing.B, indexers cache.Indexers) cache.Indexer {
	b.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	for _, o := range objects(objectCount, "1") {
		if err := indexer.Add(o); err != nil {
			b.Fatal(err)
		}
	}
	return indexer
}

var byNode = cache.IndexFunc(func(o any) ([]string, error) { return []string{o.(*v1.ConfigMap).Labels["node"]}, nil })

func indexed() cache.Indexers {
	return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, "by-node": byNode}
}

func BenchmarkGetByKey(b *testing.B) {
	indexer := filled(b, indexed())
	for b.Loop() {
		if _, found, _ := indexer.GetByKey("team-42/settings-4242"); !found {
			b.Fatal("it is there")
		}
	}
}

func BenchmarkList10000(b *testing.B) {
	indexer := filled(b, indexed())
	for b.Loop() {
		if len(indexer.List()) != objectCount {
			b.Fatal("it lists all")
		}
	}
}

func BenchmarkInNamespace100of10000(b *testing.B) {
	indexer := filled(b, indexed())
	for b.Loop() {
		if found, _ := indexer.ByIndex(cache.NamespaceIndex, "team-42"); len(found) != perNamespace {
			b.Fatal("it lists the namespace")
		}
	}
}

func BenchmarkIndexGet100of10000(b *testing.B) {
	indexer := filled(b, indexed())
	for b.Loop() {
		if found, _ := indexer.ByIndex("by-node", "node-42"); len(found) != 100 {
			b.Fatal("it finds them")
		}
	}
}

func BenchmarkSelect1000of10000(b *testing.B) {
	indexer := filled(b, indexed())
	selector := labels.SelectorFromSet(labels.Set{"app": "app-4"})
	for b.Loop() {
		n := 0
		if err := cache.ListAll(indexer, selector, func(any) { n++ }); err != nil || n != 1000 {
			b.Fatal("it selects")
		}
	}
}

// BenchmarkUpdate is one update of a store whose only index is the one of namespaces, as an informer's store has it.
func BenchmarkUpdate(b *testing.B) {
	update(b, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

func BenchmarkUpdateWithIndex(b *testing.B) {
	update(b, indexed())
}

func update(b *testing.B, indexers cache.Indexers) {
	indexer := filled(b, indexers)
	two := [][]*v1.ConfigMap{objects(changes, "2"), objects(changes, "3")}
	at := 0
	for b.Loop() {
		if err := indexer.Update(two[at/changes%2][at%changes]); err != nil {
			b.Fatal(err)
		}
		at++
	}
}

// BenchmarkQueuePushPop is the queue that informers use, in the mode that they use it in.
func BenchmarkQueuePushPop(b *testing.B) {
	queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})
	o := object(0, "1")
	for b.Loop() {
		if err := queue.Add(o); err != nil {
			b.Fatal(err)
		}
		if _, err := queue.Pop(func(any, bool) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// The time of one operation is that of 1,000 events, from the watch to the last call of the last handler.
func BenchmarkInformer1000Events1Handler(b *testing.B)   { informer(b, 1) }
func BenchmarkInformer1000Events10Handlers(b *testing.B) { informer(b, 10) }

type source struct{ watcher *watch.FakeWatcher }

func (s source) List(metav1.ListOptions) (runtime.Object, error) {
	return &v1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}
func (s source) Watch(metav1.ListOptions) (watch.Interface, error) { return s.watcher, nil }
func (s source) IsWatchListSemanticsUnSupported() bool             { return true }

func informer(b *testing.B, handlers int) {
	from := source{watch.NewFakeWithOptions(watch.FakeOptions{ChannelSize: events})}
	shared := cache.NewSharedIndexInformer(from, &v1.ConfigMap{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	told := make(chan struct{}, handlers)
	for range handlers {
		var seen atomic.Int64
		count := func() {
			if seen.Add(1)%events == 0 {
				told <- struct{}{}
			}
		}
		_, err := shared.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { count() }, UpdateFunc: func(any, any) { count() }, DeleteFunc: func(any) { count() },
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() { shared.Run(stop); close(done) }()
	cache.WaitForCacheSync(stop, shared.HasSynced)
	version := 1
	for b.Loop() {
		b.StopTimer()
		version++
		batch := objects(events, fmt.Sprint(version))
		b.StartTimer()
		for _, o := range batch {
			from.watcher.Modify(o)
		}
		for range handlers {
			<-told
		}
	}
	close(stop)
	<-done
}
