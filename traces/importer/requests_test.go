package importer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/traces"
)

// assumedOf is the value of an assumption, "" for none.
func assumedOf(r traces.Report, what string) string {
	for _, a := range r.Assumed {
		if a.What == what {
			return a.Value
		}
	}
	return ""
}

// pbsEnd is the record of the end of a job that asked for something, and ran on n1 with 8 cores.
func pbsEnd(id, asked string) string {
	return "03/01/2031 10:00:00;E;" + id + ".s;user=u group=g queue=q ctime=1930000000 qtime=1930000000 etime=1930000000 start=1930000100 exec_host=n1/0*8 " + asked +
		" Resource_List.walltime=01:00:00 end=1930001000 Exit_status=0\n"
}

// What a job of PBS asks of its nodes is a column, or counted.
func TestRequestsOfPBS(t *testing.T) {
	for _, c := range []struct {
		asked, features, include string
		nodes, cpus, gpus        int32
		memory                   int64
		repaired, leftOut        string
	}{
		{"Resource_List.nodes=1:ppn=4:k80:bigmem", "bigmem&k80", "", 1, 4, 0, 0, "", ""},
		{"Resource_List.nodes=2:ppn=4:gpus=1:exclusive_process", "", "", 2, 4, 1, 0, "", ""},
		{"Resource_List.nodes=2:ppn=4:fast+1:ppn=4:fast:big", "fast", "", 3, 4, 0, 0, "request-left-out=1", "Resource_List.nodes features of some chunks"},
		{"Resource_List.nodes=n1:ppn=4", "", "n1", 1, 4, 0, 0, "", ""},
		{"Resource_List.nodes=fast:ppn=4", "fast", "", 1, 4, 0, 0, "", ""}, // it ran on n1
		{"Resource_List.nodes=2:ppn=4#excl", "", "", 2, 4, 0, 0, "", ""},
		{"Resource_List.select=1:ncpus=4:model=bro:mpiprocs=4", "", "", 1, 4, 0, 0, "request-left-out=1", "Resource_List.select model"},
		{"Resource_List.select=1:ncpus=4:host=n7+1:ncpus=4:vnode=n8[0]", "", "n7,n8", 2, 4, 0, 0, "", ""},
		{"Resource_List.select=2:ncpus=4:host=n7", "", "n7", 1, 8, 0, 0, "chunks-of-one-node-joined=1", ""},
		{"Resource_List.select=1:ncpus=4:host=n7+1:ncpus=4", "", "", 2, 4, 0, 0, "request-left-out=1", "Resource_List.select host of some chunks"},
		{"Resource_List.select=2:ncpus=4:mem=3gb", "", "", 2, 4, 0, 3 << 30, "", ""},
		{"Resource_List.select=1:ngpus=1:gpu_type=a+1:ngpus=1:gpu_type=b", "", "", 2, 4, 1, 0, "cpus-as-allocated=1 several-gpu-types=1", ""},
	} {
		jobs, report := importText(t, pbsEnd("1", c.asked), Options{})
		require.Len(t, jobs, 1, c.asked)
		j := &jobs[0]
		require.Equal(t, []any{c.features, c.include}, []any{j.Features, j.NodeInclude}, c.asked)
		require.Equal(t, []any{c.nodes, c.cpus, c.gpus, c.memory}, []any{j.NodesMin.V, j.CPUsPerNode.V, j.GPUsPerNode.V, j.MemPerNode.V}, c.asked)
		for _, rule := range strings.Fields(c.repaired) {
			require.Contains(t, counts(report.Repaired), rule, c.asked)
		}
		require.Equal(t, c.repaired == "", len(report.Repaired) == 0, c.asked)
		require.Equal(t, c.leftOut, assumedOf(report, "columns left out"), c.asked)
		_, list, _ := strings.Cut(c.asked, "=")
		require.Equal(t, c.leftOut != "", strings.Contains(j.Extra, list), c.asked)
		require.Equal(t, strings.Contains(c.asked, "#excl"), j.Exclusive.V, c.asked)
		require.Empty(t, j.GPUType, c.asked)
	}
}

// A count that nobody can ask for is no other count.
func TestAbsurdCountsOfPBS(t *testing.T) {
	for _, line := range []string{
		pbsEnd("2", "Resource_List.select=5000000000:ncpus=4"), pbsEnd("2", "Resource_List.nodes=4294967297:ppn=2"), pbsEnd("2", "Resource_List.nodes=1:ppn=4294967297"),
		pbsEnd("2", "Resource_List.select=99999999999999999999"), pbsEnd("2", "Resource_List.select=1073741824:ncpus=1073741824"), pbsEnd("2", "Resource_List.select=1:ncpus=1:mem=99999999999gb"),
		pbsEnd("2[4294967297]", "Resource_List.ncpus=2"), strings.Replace(pbsEnd("2", "Resource_List.ncpus=2"), "n1/0*8", "n1/0*9999999999", 1),
	} {
		jobs, report := importText(t, pbsEnd("1", "Resource_List.select=70000:ncpus=4")+line, Options{BadRows: atMost(t, "1")})
		require.Len(t, jobs, 1, line)
		require.Equal(t, int32(70000), jobs[0].NodesMin.V)
		require.Equal(t, "unreadable-row=1", counts(report.Dropped), line)
	}
}
