package slurm

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/traces/hostlist"
)

// accountTree is what sacctmgr says of accounts.
type accountTree struct {
	list  []account
	index map[string]int
	above []indented // of a table, from the root down

	members []profiles.Association // the users, with the account of each
	has     map[profiles.Association]bool
}

// member adds a user to an account. One that is there once for each of several partitions counts once.
func (t *accountTree) member(user, account string, shares int64) (first bool) {
	if account == "root" {
		account = ""
	}
	key := profiles.Association{User: user, Account: account}
	if user == "" || t.has[key] {
		return user == ""
	}
	t.has[key] = true
	key.Shares = shares
	t.members = append(t.members, key)
	return true
}

// indented is an account of a table by how far it stands from the margin.
type indented struct {
	name  string
	depth int
}

// indented is the account above one that stands so far from the margin.
func (t *accountTree) indented(name string, depth int) string {
	for len(t.above) > 0 && t.above[len(t.above)-1].depth >= depth {
		t.above = t.above[:len(t.above)-1]
	}
	parent := ""
	if len(t.above) > 0 {
		parent = t.above[len(t.above)-1].name
	}
	t.above = append(t.above, indented{name, depth})
	return parent
}

// account is one below its parent, "" or root for the top.
type account struct {
	profiles.Tenant
	parent string
	shares int64
	users  int
}

// at is the account of that name, made when it is new.
func (t *accountTree) at(name string) *account {
	i, ok := t.index[name]
	if !ok {
		i = len(t.list)
		t.index[name] = i
		t.list = append(t.list, account{Tenant: profiles.Tenant{Name: name}, parent: "root", shares: 1})
	}
	return &t.list[i]
}

// accounts reads what sacctmgr printed: a dump, tables apart by | with their
// headers (several may follow each other), or its commands.
func (c *converter) accounts(src Source) error {
	in := bufio.NewScanner(io.LimitReader(src.Reader, maxFile))
	in.Buffer(nil, maxFile)
	var header []string
	parent := "root"
	for number := 1; in.Scan(); number++ {
		text := strings.TrimSpace(in.Text())
		if !utf8.ValidString(text) {
			return c.errorf(number, "found bytes that are not UTF-8")
		}
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		var err error
		if kind, rest, ok := strings.Cut(text, " - "); ok && slices.Contains([]string{"Cluster", "Parent", "Account", "User"}, kind) {
			err = c.dumped(kind, rest, number, &parent)
		} else if strings.Contains(text, "|") {
			header, err = c.tabled(in.Text(), number, header)
		} else {
			err = c.commanded(text, number)
		}
		if err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("%s: %w", src.Name, err)
	}
	return nil
}

// dumped reads a line of sacctmgr dump.
func (c *converter) dumped(kind, rest string, number int, parent *string) error {
	fields := strings.Split(rest, ":")
	name := strings.Trim(fields[0], "' ")
	c.understood(pair{kind, name, number})
	var pairs []pair
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		pairs = append(pairs, pair{key, strings.Trim(value, "'"), number})
	}
	switch kind {
	case "Parent":
		*parent = name
	case "Account":
		a := c.tree.at(name)
		a.parent = *parent
		return c.accountOptions(pairs, a)
	case "User":
		return c.userOptions(pairs, name, *parent)
	}
	return nil
}

// tabled reads a line of a table: a header, or a row below one.
func (c *converter) tabled(text string, number int, header []string) ([]string, error) {
	cells := strings.Split(strings.TrimRight(text, "\r"), "|")
	has := func(name string) bool { return slices.Contains(cells, name) }
	if has("Account") && (has("User") || has("Share") || has("Cluster")) || has("Name") && has("Priority") {
		c.tree.above = c.tree.above[:0]
		if has("Account") && !has("ParentName") && !has("Par Name") {
			c.approximated(pair{"Account", "", number}, "without the column ParentName accounts are below the one that they are indented under, and all below the root where nothing is: print it by sacctmgr -P show assoc tree")
		}
		return cells, nil
	}
	if header == nil {
		return nil, c.errorf(number, "found a row of a table without a header: print it without -n, as by sacctmgr -P show assoc")
	}
	var pairs []pair
	at, depth := map[string]string{}, 0
	for i, cell := range cells[:min(len(cells), len(header))] {
		if header[i] == "Account" {
			depth = len(cell) - len(strings.TrimLeft(cell, " "))
		}
		at[header[i]] = strings.TrimSpace(cell)
		if at[header[i]] != "" && header[i] != "" {
			pairs = append(pairs, pair{header[i], at[header[i]], number})
		}
	}
	if name, is := at["Name"], slices.Contains(header, "Name"); is {
		c.understood(pair{"Name", name, number})
		return header, c.qosOptions(name, pairs)
	}
	if at["Account"] == "" {
		return header, c.errorf(number, "found a row without an account")
	}
	parent := at["ParentName"]
	if parent == "" {
		parent = at["Par Name"]
	}
	if at["User"] != "" {
		return header, c.userOptions(pairs, at["User"], at["Account"])
	}
	a := c.tree.at(at["Account"])
	if parent == "" {
		parent = c.tree.indented(at["Account"], depth)
	}
	if parent != "" {
		a.parent = parent
	}
	c.understood(pair{"Account", at["Account"], number})
	return header, c.accountOptions(pairs, a)
}

// commanded reads a command of sacctmgr that adds something.
func (c *converter) commanded(text string, number int) error {
	words := strings.Fields(text)
	if len(words) < 2 || !slices.Contains([]string{"add", "create"}, strings.ToLower(words[0])) {
		c.ignored(pair{words[0], text, number}, "of the commands of sacctmgr only add counts")
		return nil
	}
	var pairs []pair
	at := map[string]string{}
	for _, w := range words[2:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return c.errorf(number, "found %q, want key=value", w)
		}
		value = strings.Trim(value, `"'`)
		at[strings.ToLower(key)] = value
		pairs = append(pairs, pair{key, value, number})
	}
	what := strings.ToLower(words[1])
	c.understood(pair{words[0] + " " + what, at["name"], number})
	switch what {
	case "qos":
		return c.qosOptions(at["name"], pairs)
	case "account":
		for name := range strings.SplitSeq(at["name"], ",") {
			a := c.tree.at(name)
			if at["parent"] != "" {
				a.parent = at["parent"]
			}
			if err := c.accountOptions(pairs, a); err != nil {
				return err
			}
		}
	case "user":
		account := at["account"]
		if account == "" {
			account = at["defaultaccount"]
		}
		for a := range strings.SplitSeq(account, ",") {
			for user := range strings.SplitSeq(at["name"], ",") {
				if err := c.userOptions(pairs, user, a); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// plainAccount are what sacctmgr says that is not about scheduling.
var plainAccount = []string{"name", "account", "user", "cluster", "partition", "description", "organization", "defaultaccount", "adminlevel", "classification", "parentname", "par name", "parent", "id", "lft", "rgt", "comment", "flags", "wckeys", "defaultwckey"}

// mayUse say which qualities of service an association may have.
var mayUse = []string{"qos", "qoslevel", "def qos", "defaultqos", "defqos"}

// What options are of that have the same names elsewhere.
const (
	ofAccount = "account"
	ofQOS     = "qos"
)

func (c *converter) accountOptions(pairs []pair, a *account) (err error) {
	c.of = ofAccount
	defer func() { c.of = "" }()
	for _, p := range pairs {
		switch key := strings.ToLower(p.key); {
		case key == "fairshare" || key == "share":
			if a.shares, err = c.shares(p); err != nil {
				return err
			}
		case key == "priority":
			if a.Priority, err = c.number(p, 0, math.MaxUint32); err != nil {
				return err
			}
			c.understood(p)
		case key == "grpjobs":
			err = c.limit(p, &a.MaxConcurrent)
		case key == "grptres" || key == "grpnodes":
			err = c.limitsIn(p, &a.MaxNodes, &a.MaxGPUs)
		case slices.Contains(plainAccount, key):
		case slices.Contains(mayUse, key):
			c.plain(p, "rows say which quality of service they have")
		default:
			c.ignored(p, "a limit of accounts that is not modelled")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shares reads Fairshare; parent is the least that a user can have.
func (c *converter) shares(p pair) (int64, error) {
	if strings.EqualFold(p.value, "parent") {
		c.approximated(p, "users of an account share equally")
		return 0, nil
	}
	n, err := c.number(p, 0, math.MaxInt32)
	if err == nil {
		c.understood(p)
	}
	return n, err
}

func (c *converter) userOptions(pairs []pair, user, in string) error {
	if in == "" {
		return nil
	}
	c.tree.at(in).users++
	shares := int64(1)
	for _, p := range pairs {
		switch key := strings.ToLower(p.key); {
		case (key == "fairshare" || key == "share") && strings.EqualFold(p.value, "parent"):
			c.approximated(p, "the user has one share of the account")
		case key == "fairshare" || key == "share":
			n, err := c.number(p, 0, math.MaxInt32)
			if err != nil {
				return err
			}
			if shares = n; n == 1 || c.inSlurm() {
				c.understood(p)
			} else {
				c.approximated(p, "users of an account share equally")
			}
		case slices.Contains(plainAccount, key):
		case slices.Contains(mayUse, key):
			c.plain(p, "rows say which quality of service they have")
		default:
			c.ignored(p, "limits of single users are not modelled")
		}
	}
	if !c.tree.member(user, in, shares) && len(pairs) > 0 {
		c.ignored(pair{"User", user, pairs[0].line}, "a user that is in an account once for each of several partitions counts once")
	}
	return nil
}

// limit reads a limit; -1 and nothing lift it.
func (c *converter) limit(p pair, to *int32) error {
	if p.value == "" || p.value == "-1" {
		*to = 0
		return nil
	}
	n, err := c.number(p, 0, math.MaxInt32)
	if err != nil {
		return err
	}
	*to = int32(n)
	if n == 0 {
		c.ignored(p, "a limit of 0 keeps all jobs out, and here it would be none")
		return nil
	}
	c.understood(p)
	return nil
}

// limitsIn reads the nodes and GPUs of a list of TRES like cpu=100,node=5,gres/gpu=8.
func (c *converter) limitsIn(p pair, nodes, gpus *int32) error {
	if strings.EqualFold(p.key, "grpnodes") || strings.EqualFold(p.key, "maxnodes") {
		return c.limit(p, nodes)
	}
	for _, term := range hostlist.Terms(p.value, ",") {
		kind, n, _ := strings.Cut(term, "=")
		one := pair{p.key, term, p.line}
		to := nodes
		switch {
		case strings.EqualFold(kind, "gres/gpu"):
			to = gpus
		case !strings.EqualFold(kind, "node"):
			c.ignored(one, "limits count nodes and GPUs of any model only")
			continue
		}
		if err := c.limit(pair{p.key, n, p.line}, to); err != nil {
			return err
		}
	}
	return nil
}

func (c *converter) qosOptions(name string, pairs []pair) error {
	c.of = ofQOS
	defer func() { c.of = "" }()
	q := profiles.QOS{Name: name, Class: -1, UsageFactor: 1}
	for _, p := range pairs {
		if err := c.qosOption(p, &q); err != nil {
			return err
		}
	}
	if i := slices.IndexFunc(c.qos, func(x profiles.QOS) bool { return x.Name == name }); i >= 0 {
		c.qos[i] = q
		return nil
	}
	c.qos = append(c.qos, q)
	return nil
}

func (c *converter) qosOption(p pair, q *profiles.QOS) (err error) {
	switch key := strings.ToLower(p.key); key {
	case "priority":
		if q.Priority, err = c.number(p, 0, math.MaxUint32); err == nil {
			c.understood(p)
		}
	case "usagefactor":
		x, bad := strconv.ParseFloat(p.value, 64)
		if bad != nil || !(x >= 0 && x <= 1000) {
			return c.errorf(p.line, "UsageFactor=%s: want a number from 0 to 1000", p.value)
		}
		q.UsageFactor = x
		c.understood(p)
	case "preempt":
		for _, other := range hostlist.Terms(p.value, ",") {
			q.Preempts = append(q.Preempts, strings.Trim(other, "'"))
		}
		c.understood(p)
	case "gracetime":
		if d, _, bad := graceTime(p.value); bad == nil {
			q.PreemptGrace = d
			c.understood(p)
		} else {
			return c.errorf(p.line, "GraceTime: %w", bad)
		}
	case "maxwall", "maxwalldurationperjob":
		d, _, bad := span(p.value)
		if bad != nil {
			return c.errorf(p.line, "%s: %w", p.key, bad)
		}
		q.MaxWall = d
		c.understood(p)
	case "grpjobs":
		err = c.limit(p, &q.GroupJobs)
	case "grptres", "grpnodes":
		err = c.limitsIn(p, &q.GroupNodes, &q.GroupGPUs)
	case "maxtres", "maxtresperjob", "maxnodes":
		err = c.limitsIn(p, &q.MaxNodes, &q.MaxGPUs)
	case "maxtrespu", "maxtresperuser":
		err = c.limitsIn(p, &q.UserNodes, &q.UserGPUs)
	case "maxjobspu", "maxjobsperuser":
		err = c.limit(p, &q.UserJobs)
	case "maxsubmitpu", "maxsubmitjobspu", "maxsubmitjobsperuser":
		err = c.limit(p, &q.UserPending)
	case "preemptmode":
		if strings.EqualFold(p.value, "cluster") {
			c.plain(p, "that of the cluster, as by default")
		} else {
			c.ignored(p, "how victims leave is the same for all qualities of service")
		}
	default:
		if !slices.Contains(plainAccount, key) {
			c.ignored(p, "an option of qualities of service that is not modelled")
		}
	}
	return err
}

// graceTime is seconds, or hours:minutes:seconds as sacctmgr prints it.
func graceTime(text string) (model.Duration, bool, error) {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n >= 0 {
		return model.Duration(n) * model.Second, false, nil
	}
	return span(text)
}
