package place

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// parted is two nodes of three GPUs, eight CPUs and 100 B.
func parted() *Free {
	site := &model.Site{Fingerprints: 1, Groups: make([]model.Group, 1)}
	for range 2 {
		site.Nodes = append(site.Nodes, model.Node{Topology: -1, GPUs: 3, CPUs: 8, Memory: 100})
	}
	return NewSpace(site).NewFree()
}

// got is what a job gets that asks for a share of one node, and holds from then on.
func (f *Free) got(t *testing.T, s Share) *model.Placement {
	t.Helper()
	q := Query{Class: f.sp.Class(nil), Nodes: 1, Share: s}
	var p model.Placement
	if require.Equal(t, f.Fits(&q), f.Select(&q, &p)); len(p.Shares) == 0 {
		return nil
	}
	f.Take(&p)
	return &p
}

func milli(n int32) Share { return Share{Amounts: model.Amounts{GPUMilli: n}} }

// Thousandths of a GPU go where the fewest are left of those that have as many, then to the lowest GPU;
// a GPU of which some are held is no whole one, and is again when all are given back.
func TestThousandthsGoWhereTheyFitBest(t *testing.T) {
	f := parted()
	var held []*model.Placement
	for _, c := range []struct {
		milli int32
		node  model.NodeID
		gpu   int
	}{
		{600, 0, 0}, // all is free: the lowest
		{600, 0, 1}, // 400 are left of the first
		{700, 0, 2}, // 400, 400
		{300, 0, 2}, // 300 fit best, beside 400 and 400
		{300, 0, 0}, // 400 and 400: the lower
		{200, 0, 1}, // 100 are too few
		{200, 0, 1}, // the 200 that are left there
		{200, 1, 0}, // the first node has 100
		{800, 1, 0},
	} {
		p := f.got(t, milli(c.milli))
		require.NotNil(t, p)
		require.Equal(t, c.node, p.Shares[0].Node, "%+v", c)
		require.EqualValues(t, 1<<c.gpu, p.Shares[0].GPUs, "%+v", c)
		held = append(held, p)
	}
	two := f.got(t, Share{GPUs: 2})
	require.Equal(t, model.NodeID(1), two.Shares[0].Node)
	require.EqualValues(t, 6, two.Shares[0].GPUs)
	require.Nil(t, f.got(t, Share{GPUs: 1}), "all are held, in part or whole")
	require.Nil(t, f.got(t, milli(200)))
	require.NotNil(t, f.got(t, milli(100)), "the rest of GPU 0 of node 0")
	f.Give(held[6])
	require.Nil(t, f.got(t, Share{GPUs: 1}), "two jobs had the GPU")
	f.Give(held[5])
	require.Nil(t, f.got(t, Share{GPUs: 1}), "three had")
	f.Give(held[1])
	one := f.got(t, Share{GPUs: 1})
	require.NotNil(t, one, "none has it any more")
	require.EqualValues(t, 2, one.Shares[0].GPUs)
}

// CPUs and memory of a node are given out up to the last, and come back.
func TestCPUsAndMemoryAreGivenOut(t *testing.T) {
	f := parted()
	cpus := func(n int32, bytes int64) Share { return Share{Amounts: model.Amounts{CPUs: n, Memory: bytes}} }
	first := f.got(t, cpus(5, 60))
	require.Equal(t, model.NodeID(0), first.Shares[0].Node)
	require.Equal(t, model.NodeID(0), f.got(t, cpus(3, 40)).Shares[0].Node, "the rest exactly")
	require.Equal(t, model.NodeID(1), f.got(t, cpus(1, 0)).Shares[0].Node)
	require.Nil(t, f.got(t, cpus(8, 0)), "seven are free")
	require.Nil(t, f.got(t, cpus(1, 101)))
	require.NotNil(t, f.got(t, cpus(7, 100)))
	f.Give(first)
	require.Nil(t, f.got(t, cpus(6, 0)))
	require.Nil(t, f.got(t, cpus(5, 61)))
	require.NotNil(t, f.got(t, cpus(5, 60)))
}
