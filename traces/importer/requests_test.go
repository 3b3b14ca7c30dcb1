package importer

import (
	"strings"
	"testing"
	"time"

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

// A count beyond all clusters is no other count.
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

// lsfEnd is the record of a job of so many slots that ran on n1 and n2, with a requirement, the one that LSF made of it, and -gpu.
func lsfEnd(slots, requirement, effective, gpu string) string {
	return `"JOB_FINISH" "10.1" 1930009000 5 7 3 ` + slots + ` 1930000000 0 0 1930000500 "u" "normal" "` + requirement + `" "" "" "h" "d" "" "" "" "f" 0 2 "n1" "n2" 64 1.0 "a" "c" ` +
		strings.Repeat("-1 ", 19) + `"" "default" 0 2 "" "" 0 0 0 "" "" "" "" 0 "" 15 "" -1 "" "" "" "" -1 "" "" 5136 "" 0 "" "" 0 0 -1 0 0 "` + effective + `" "" -1 "" -1 0 "" 0 0 "" 0 "` + gpu + "\"\n"
}

// GPUs of LSF are columns however they are asked for, and what is no column is counted.
func TestGPUsOfLSF(t *testing.T) {
	for _, c := range []struct {
		slots, requirement, effective, gpu string
		nodes, each, total                 int32
		repaired, leftOut                  string
	}{
		{"1", "rusage[ngpus_physical=4.00]", "", "", 1, 4, 4, "gpus-per-host-assumed=1", ""},
		{"8", "span[ptile=4] rusage[ngpus_physical=1:duration=1m]", "", "", 2, 1, 2, "gpus-per-host-assumed=1", ""},
		{"8", "span[hosts=1] rusage[ngpus_excl_p=2]", "", "", 1, 2, 2, "gpus-per-host-assumed=1", ""},
		{"8", "rusage[ngpus_physical=3]", "", "", 2, 3, 6, "nodes-as-allocated=1 gpus-per-host-assumed=1", ""},
		{"8", "span[ptile=4] rusage[ngpus_physical=4/job]", "", "", 2, 2, 4, "", ""},
		{"8", "span[ptile=4] rusage[ngpus_physical=1/task]", "", "", 2, 4, 8, "", ""},
		{"2", "span[ptile=1]", "select[ngpus>0] rusage[ngpus_physical=2.00] span[ptile=1]", "", 2, 2, 4, "gpus-per-host-assumed=1", ""},
		{"2", "span[ptile=1]", "", "num=2/host:mode=shared:gmodel=V100", 2, 2, 4, "", ""},
		{"1", "select[ngpus>0] rusage[ngpus_physical=4.00:mem=100]", "", "", 1, 4, 4, "request-left-out=1 gpus-per-host-assumed=1", "resReq rusage mem, resReq select"},
		{"1", "rusage[volta=1]", "", "", 0, 0, 0, "request-left-out=1", "resReq rusage volta"},
		{"2", "1*{rusage[ngpus_physical=1]}+1*{rusage[mem=1]}", "", "", 0, 0, 0, "request-left-out=1", "resReq compound"},
		{"2", "", "", "", 0, 0, 0, "", ""},
	} {
		jobs, report := importText(t, lsfEnd(c.slots, c.requirement, c.effective, c.gpu), Options{})
		require.Len(t, jobs, 1, c.requirement)
		j := &jobs[0]
		require.Equal(t, []int32{c.nodes, c.each, c.total}, []int32{j.NodesMin.V, j.GPUsPerNode.V, j.GPUsTotal.V}, "%+v", c)
		require.Equal(t, strings.Contains(c.gpu, "V100"), j.GPUType == "V100")
		require.ElementsMatch(t, strings.Fields(c.repaired), strings.Fields(counts(report.Repaired)), "%+v", c)
		require.Equal(t, c.leftOut, assumedOf(report, "columns left out"), "%+v", c)
	}
	_, report := importText(t, lsfEnd("1", "", "", "")+lsfEnd("1", "rusage[ngpus_physical=99999999999]", "", ""), Options{BadRows: atMost(t, "1")})
	require.Equal(t, "unreadable-row=1", counts(report.Dropped))
}

// GPUs of SGE are columns, and what is no column is counted.
func TestGPUsOfSGE(t *testing.T) {
	row := func(environment, slots, category string) string {
		return "q:h:g:o:n:5:a:0:1930000000:1930000100:1930000200:0:0:1:1:1:1:0:0:0:0:0:0:0:0:0:0:0:0:0:0:p:d:" + environment + ":" + slots + ":0:1.0:1.0:1.0:" + category + ":0.0:NONE:1.0:0:0\n"
	}
	for _, c := range []struct {
		environment, slots, category string
		nodes, each, total           int32
		host, repaired, leftOut      string
	}{
		{"NONE", "1", "-l h_rt=7200,gpu=2", 1, 2, 2, "", "", ""},
		{"smp", "4", "-l gpus=1 -l h_rt=60 -pe smp 4", 0, 1, 4, "", "cpus-as-allocated=1 gpus-per-slot-assumed=1", ""},
		{"NONE", "1", "-l gpu=TRUE,k80=1", 0, 0, 0, "", "request-left-out=1", "category -l gpu, category -l k80"},
		{"NONE", "1", "-l h_vmem=4G,s_rt=60,hostname=n7", 0, 0, 0, "n7", "request-left-out=1", "category -l h_vmem"},
		{"NONE", "1", "-l h=n*", 0, 0, 0, "", "request-left-out=1", "category -l h"},
		{"NONE", "1", "-soft -l gpu=1", 0, 0, 0, "", "request-left-out=1", "category -soft -l gpu"},
		{"NONE", "1", "-q a@n1 -l h_rt=60", 0, 0, 0, "", "request-left-out=1", "category -q QUEUE@HOST"},
	} {
		jobs, report := importText(t, row(c.environment, c.slots, c.category), Options{})
		require.Len(t, jobs, 1, c.category)
		j := &jobs[0]
		require.Equal(t, []int32{c.nodes, c.each, c.total}, []int32{j.NodesMin.V, j.GPUsPerNode.V, j.GPUsTotal.V}, "%+v", c)
		require.Equal(t, c.host, j.NodeInclude)
		require.ElementsMatch(t, strings.Fields(c.repaired), strings.Fields(counts(report.Repaired)), "%+v", c)
		require.Equal(t, c.leftOut, assumedOf(report, "columns left out"), "%+v", c)
	}
	_, report := importText(t, row("NONE", "1", "NONE")+row("NONE", "1", "-l gpu=99999999999"), Options{BadRows: atMost(t, "1")})
	require.Equal(t, "unreadable-row=1", counts(report.Dropped))
}

// Licences and generic resources of Slurm have no column, and are counted.
func TestRequestsOfSlurmWithoutAColumn(t *testing.T) {
	header := strings.Replace(sacctHeader, "|JobName", "|ReqTRES|ReqGRES|Licenses", 1)
	row := func(id, rest string) string { return id + "|" + id + "|" + ran + "|1|2|01:00:00|n1|" + rest + "\n" }
	jobs, report := importText(t, header+"\n"+row("1", "cpu=2,mem=1G,node=1,billing=2,gres/gpu:a100=1|gpu:1|")+row("2", "cpu=2,node=1||ansys@flex:2")+row("3", "cpu=2,license/matlab=1||")+
		row("4", "cpu=2,gres/nvme=100|nvme:100|")+row("5", "cpu=2,gres/nvme=0|gpu:1(S:0,1),nvme:0|"), Options{Zone: time.UTC})
	require.Len(t, jobs, 5)
	repaired := strings.Fields(counts(report.Repaired))
	require.Contains(t, repaired, "licences-left-out=2")
	require.Contains(t, repaired, "resources-left-out=1")
	require.Contains(t, jobs[1].Extra, "ansys@flex:2")
	require.Contains(t, jobs[3].Extra, "gres/nvme=100")
	require.NotContains(t, jobs[0].Extra, "TRES")
}
