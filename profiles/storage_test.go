package profiles

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
)

// TestTransfers: what a file says of transfers reaches the site, and stands in its canonical
// form. A size of 0 is one, and no size is another.
func TestTransfers(t *testing.T) {
	const nodes = "groups: [{name: g, nodes: 2}]\n"
	known := func(n int64) hwmodel.Size { return hwmodel.Size{Size: n, Known: true} }
	for _, c := range []struct {
		name, text string
		want       *Transfers
		bytes      hwmodel.Bytes
	}{
		{"nothing", "workloads: [{name: w}]\n", nil, hwmodel.Bytes{}},
		{"none of them", "storage: {bandwidth: none, stage_bandwidth: none}\nagents: {checkpoint_stop: none}\nworkloads: [{name: w, input_bytes: unknown}]\n", nil, hwmodel.Bytes{}},
		{"all", "storage: {bandwidth: 200GB/s, stage_bandwidth: 2GB/s}\nagents: {checkpoint_stop: 1TB/s}\nworkloads: [{name: w, checkpoint_bytes: 80GB, input_bytes: 0B}]\n", &Transfers{200e9, 2e9, 1e12}, hwmodel.Bytes{Checkpoint: known(80e9), Input: known(0)}},
		{"copies alone", "agents: {checkpoint_stop: 1TB/s}\nworkloads: [{name: w, input_bytes: 1KiB}]\n", &Transfers{Stop: 1e12}, hwmodel.Bytes{Input: known(1024)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, err := ParseCluster("c.yaml", []byte(nodes+c.text))
			require.NoError(t, err)
			again, err := ParseSite("site", file.JSON())
			require.NoError(t, err)
			for _, f := range []*Cluster{file, again} {
				site, err := f.Resolve()
				require.NoError(t, err)
				require.Equal(t, c.want, site.Hardware.Transfers)
				require.Equal(t, c.bytes, site.Hardware.Model.Classes[0].Bytes)
			}
		})
	}
}
