package slurm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"orrery/scheduler/model"
)

// poll is one that is being made.
type poll struct {
	r        *Recorder
	ctx      context.Context
	now      model.Time
	told     *Told
	answered int
}

// run asks one command; what fails is told.
func (p *poll) run(name string, args ...string) (string, bool) {
	if p.ctx.Err() != nil {
		return "", false
	}
	text, err := p.r.tool(p.ctx, name, args...)
	if err != nil {
		if p.ctx.Err() == nil {
			p.told.Failed = append(p.told.Failed, fmt.Sprintf("%s: %v", name, err))
		}
		return "", false
	}
	p.answered++
	return string(text), true
}

// note keeps what is new.
func (p *poll) note(kind, key, value string) {
	r := record{At: p.now, Kind: kind, Key: key, Value: value}
	sum := r.sum()
	if k, ok := p.r.state.Known[kind+" "+key]; ok && k.Sum == sum {
		return
	}
	p.r.state.apply(&r, sum, r.until())
	p.r.news = append(p.r.news, r)
}

// noteJSON keeps a value as JSON.
func (p *poll) noteJSON(kind, key string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers alone
	}
	p.note(kind, key, string(text))
}

// query goes through the commands. sdiag comes before sacct: what it says of the database then
// holds for all that sacct is asked for.
func (p *poll) query() {
	drained := p.drained()
	queue := p.queue()
	from := p.r.state.Acknowledged
	if p.jobs() {
		if p.told.Behind = !drained; drained {
			p.r.state.Acknowledged = p.now
		}
	} else {
		p.told.Behind = true
	}
	p.nodes()
	p.nodeEvents(from)
	p.reservations()
	if text, ok := p.run("sacctmgr", "-P", "show", "assoc", "format=Cluster,Account,ParentName,User,Share,GrpJobs,GrpTRES,GrpTRESMins"); ok {
		p.note(kindAccounts, "", text)
	}
	p.r.state.forget(queue)
}

// drained says whether slurmctld had nothing left to hand to the database.
func (p *poll) drained() bool {
	text, ok := p.run("sdiag")
	if !ok {
		return false
	}
	_, rest, found := strings.Cut(text, "DBD Agent queue size:")
	if !found { // no database, or a Slurm that does not say
		return true
	}
	n, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(n) == "0"
}

// wanted are the columns of sacct, those first that make a row known; Slurm may lack those behind
// them. The name may hold bars and line
// ends: enough columns stand behind it for a part of a row to be told from a whole one.
var wanted = []string{"JobIDRaw", "JobID", "Submit", "End", "State", "JobName", "Eligible", "Start", "ExitCode", "ElapsedRaw", "TimelimitRaw", "Cluster", "Partition", "QOS", "Account", "User",
	"NNodes", "NCPUS", "ReqCPUS", "ReqMem", "ReqTRES", "AllocTRES", "NodeList", "Reservation", "Constraints", "Restarts", "Priority"}

const (
	rowID = iota
	_
	rowSubmit
	rowEnd
	rowNeeded
)

// finished are the states of jobs that have ended. Without them sacct leaves out jobs that
// were withdrawn before they could start.
const finished = "BF,CA,CD,DL,F,NF,OOM,PR,RQ,RV,TO"

// jobs asks sacct for what has ended.
func (p *poll) jobs() bool {
	r := p.r
	if r.fields == nil {
		text, ok := p.run("sacct", "-e")
		if !ok {
			return false
		}
		have := strings.Fields(text)
		for _, name := range wanted {
			if slices.Contains(have, name) || len(r.fields) < rowNeeded {
				r.fields = append(r.fields, name)
			}
		}
	}
	p.note(kindColumns, "", strings.Join(r.fields, "|"))
	text, ok := p.run("sacct", "-D", "-X", "-a", "-P", "-s", finished, "-S", clock(r.state.Acknowledged.Add(-overlap)), "-E", clock(p.now.Add(model.Minute)),
		"--format="+strings.Join(r.fields, ","))
	if !ok {
		return false
	}
	return p.rows(text)
}

// clock is how sacct reads an instant, in UTC.
func clock(at model.Time) string {
	return time.UnixMicro(int64(at)).UTC().Format("2006-01-02T15:04:05")
}

// rows keeps those of a table below its header.
func (p *poll) rows(text string) bool {
	header, text, _ := strings.Cut(text, "\n")
	if header != strings.Join(p.r.fields, "|") {
		p.told.Failed = append(p.told.Failed, fmt.Sprintf("sacct: found the columns %.60q, want those that were asked for", header))
		return false
	}
	part := ""
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if part != "" {
			line = part + "\n" + line
		}
		if part = ""; line == "" {
			continue
		}
		if strings.Count(line, "|") < len(p.r.fields)-1 {
			part = line
			continue
		}
		f := strings.Split(line, "|")
		p.note(kindJob, f[rowID]+"|"+f[rowSubmit], line)
	}
	if part != "" {
		p.told.Failed = append(p.told.Failed, fmt.Sprintf("sacct: the table ends inside of the row %.60q", part))
	}
	return part == ""
}

// endOf is the end that a row of sacct has, 0 for none.
func endOf(row string) model.Time {
	f := strings.SplitN(row, "|", rowNeeded+1)
	if len(f) <= rowEnd {
		return 0
	}
	return seconds(f[rowEnd])
}

// seconds reads those since 1970, 0 for what is none.
func seconds(text string) model.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return model.Time(n) * model.Time(model.Second)
}

// queued is what the queue says of a job that sacct does not.
type queued struct {
	Priority int64  `json:"priority"`
	Nice     int64  `json:"nice,omitempty"`
	Held     bool   `json:"held,omitempty"`
	Pending  bool   `json:"pending,omitempty"`
	Depends  string `json:"depends,omitempty"` // what has not come to hold yet
	Include  string `json:"include,omitempty"`
	Exclude  string `json:"exclude,omitempty"`
	Alone    bool   `json:"alone,omitempty"` // on its nodes
	Most     int32  `json:"most,omitempty"`  // of the tasks of the array at once
}

// withoutFirst is a value without its first field, which may change by itself.
func withoutFirst(value string) string {
	_, rest, _ := strings.Cut(value, ",")
	return rest
}

const between = "\x1f" // stands in no field

// queue asks squeue, and answers the keys of all jobs in the queue, nil when it fails.
func (p *poll) queue() map[string]bool {
	fields := []string{"%F", "%K", "%V", "%Q", "%y", "%T", "%r", "%h", "%n", "%x", "%E", "%A", "%e"}
	text, ok := p.run("squeue", "-a", "-h", "-o", strings.Join(fields, between))
	if !ok {
		return nil
	}
	there, ending := map[string]bool{}, map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		f := strings.Split(line, between)
		if len(f) != len(fields) {
			continue // the last line end
		}
		key, most := queueKey(f[0], f[1], f[2])
		pending := f[5] == "PENDING"
		q := queued{Nice: whole(f[4]), Pending: pending, Held: pending && strings.HasPrefix(f[6], "JobHeld"), Include: name(f[8]), Exclude: name(f[9]), Alone: f[7] == "NO" || f[7] == "EXCLUSIVE", Most: most}
		q.Priority = whole(f[3])
		if q.Depends = name(f[10]); !pending {
			q.Depends = ""
		}
		there[key] = true
		p.noteJSON(kindQueued, key, q)
		if f[5] == "COMPLETING" {
			done := f[11] + "|" + f[2]
			ending[done] = true
			p.noteJSON(kindCompleting, done, completing{p.now, f[12]})
		}
	}
	p.gone(kindCompleting, ending)
	return there
}

// queueKey is that of a job, of a task of an array, or of the tasks of an array that have not been
// told apart yet, of which most may run at once.
func queueKey(id, tasks, submit string) (key string, most int32) {
	if tasks == "" || tasks == "N/A" {
		return id + "|" + submit, 0
	}
	list, limit, _ := strings.Cut(tasks, "%")
	if _, err := strconv.Atoi(list); err != nil {
		list = "*"
	}
	return id + "_" + list + "|" + submit, int32(min(whole(limit), 1<<30))
}

func whole(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// name is a text that is not one of Slurm's words for none.
func name(text string) string {
	if text == "(null)" || text == "N/A" {
		return ""
	}
	return text
}

// value is that of a key in a line of scontrol -o.
func value(line, key string) string {
	_, rest, found := strings.Cut(" "+line, " "+key+"=")
	if !found {
		return ""
	}
	word, _, _ := strings.Cut(rest, " ")
	return name(word)
}

// node is what scontrol says of a node, without what changes by itself.
type node struct {
	CPUs     int64  `json:"cpus"`
	Memory   int64  `json:"memory_mib"`
	Gres     string `json:"gres,omitempty"`
	Features string `json:"features,omitempty"`
}

func (p *poll) nodes() {
	text, ok := p.run("scontrol", "show", "nodes", "-o")
	if !ok {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		if id := value(line, "NodeName"); id != "" {
			p.noteJSON(kindNode, id, node{whole(value(line, "CPUTot")), whole(value(line, "RealMemory")), value(line, "Gres"), value(line, "ActiveFeatures")})
			p.noteJSON(kindNodeState, id, nodeState{p.r.state.Nodes, phaseOf(value(line, "State")), seconds(value(line, "BootTime"))})
		}
	}
	p.r.state.Nodes = p.now
}

// nodeEvent is a time in which a node was not to be had.
type nodeEvent struct {
	Node  string `json:"node"`
	Start string `json:"start"` // seconds since 1970
	End   string `json:"end,omitempty"`
	State string `json:"state"`
}

// nodeEvents asks the database when nodes were down or drained.
func (p *poll) nodeEvents(from model.Time) {
	text, ok := p.run("sacctmgr", "-n", "-P", "show", "event", "start="+clock(from.Add(-overlap)), "format=NodeName,TimeStart,TimeEnd,State")
	if !ok {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		f := strings.Split(line, "|")
		if len(f) < 4 || f[0] == "" { // the whole cluster, when its size changes
			continue
		}
		end := f[2]
		if seconds(end) == 0 {
			end = ""
		}
		p.noteJSON(kindNodeEvent, f[0]+"|"+f[1], nodeEvent{f[0], f[1], end, f[3]})
	}
}

// reservation is what scontrol says of one.
type reservation struct {
	Start       string `json:"start"` // seconds since 1970
	End         string `json:"end"`
	Nodes       string `json:"nodes"`
	Maintenance bool   `json:"maintenance,omitempty"`
}

// reservations also notes those that are gone.
func (p *poll) reservations() {
	text, ok := p.run("scontrol", "show", "reservations", "-o")
	if !ok {
		return
	}
	there := map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		id := value(line, "ReservationName")
		if id == "" {
			continue
		}
		there[id] = true
		p.noteJSON(kindReservation, id, reservation{value(line, "StartTime"), value(line, "EndTime"), value(line, "Nodes"), slices.Contains(strings.Split(value(line, "Flags"), ","), "MAINT")})
	}
	p.gone(kindReservation, there)
}

// gone notes those of a kind that are there no more.
func (p *poll) gone(kind string, there map[string]bool) {
	var gone []string
	for key := range p.r.state.Known { //detlint:ordered they are sorted below
		if id, is := strings.CutPrefix(key, kind+" "); is && !there[id] {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	for _, id := range gone {
		p.note(kind, id, "")
	}
}
