package main

// layerTable lists the files of long packages from the top to the bottom, and how many
// arrows may go from one to another above it. A new file goes above the files that it uses
// and below those that use it. A limit is lowered when a change takes arrows away.
var layerTable = []layered{
	{"cmd/orrery", 72, `
		main interrupt child_other comparewindows check schema capturefollow lab cluster verify scale lint captureinspect tune
		helptopics calibrate sweep trace forkshow study capturesensor explain capturesensorshow tracestats capture importflags
		verifyrun gate sweepflags fork comparenoise verifyfacts conform gatefiles capturejoin clusterdiff capturesample export
		studycluster explainqueue profiles clustercatalogue verifywatch studyprofile verifystudy compare clusterdraw synth
		profiles_slurm tracetable tunedir scenario report capturemerge sarif site made tracetransform captureconvert explainjob
		formats replay studyfiles doctor worker executor calibratesensor settings import input nofile synthsite captureslurm
		account logflags content version progress cache complete helpmetrics flaggroups output write summarypower app summary
		digits summaryservices goal child_linux values choice exit`},
	{"profiles", 39, `
		values mapping lintexperiment jsonschema clusterdiff classes hardware calibration scenario retired lintcluster lint
		resolvesets powercap experiment idleweights settings clusterfile gate encode services kinds diff scalingmachines storage
		network locate resolve scaling scalingpolicy load failures check weights decode schema cluster scalar amount nodes
		profile problem`},
	{"scheduler/site", 71, `
		standing follow observe mode usage conservative seek full bestjob note promises behind reactive shed preempt prune
		nextlook scaled score easy victims accounts promiselent blocked held alike maxlimits clashes elsewhere place constraints
		trial pass requestmix holds gated heap tres site nodes prices jobs queuestate`},
	{"traces", 12, `
		validate record memory classes badrows access survey stream dependencies scan bundle peaks attributes writer measure
		cursor rows reader rules tablerules foreign plausible table hash columns schema seal report source reserved meta errors
		row`},
	{"sim/tune", 41, `
		headline page changes pagesense explain weigh verdict report around loads seek variance sense shares decide finalists
		bounds payers candidate windows vary space services figure tune runs goal`},
	{"reports/plot", 2, `
		supply tradeoff sidebyside shares sensitivity readings moves hours slowdown history gantt raster fits energy columns
		cluster site waits rows power state candidates heatmap measure axis figure canvas words`},
	{"sim/world", 38, `
		service warm storage speed network drift site proposals prologues nodes exits changes attempts meter checkpoints config
		silence hardware failures bills lifecycle plain`},
	{"sim/record", 23, `
		arrow export attempts groups series vclusterseries names writer power jobs decisions lookup reader log parts scan
		manifest decode table schema footer compress record nodes document errors`},
	{"sim/metric", 23, `
		sense number measure size parts overload table cells site groups services definitions jain evaluate metric compute
		window selection ratio ranker bins holdings reasons series power sum`},
	{"traces/transform", 18, `
		filter jitter event anonymise merge window mapping resample load stretch document recipe transform demand tables params
		heap ratio account`},
	{"sim/sweep", 8, `
		template status slurm remote group_unix group_other group_notlinux group_linux doctor local commitline claimer commit
		journal outcome claims specs sweep study host`},
	{"autoscale/conform", 11, `
		neon hpacontroller models lattice hpareplicas neonagent hpa neonplugin keda lcm maestro lcmstorm kpa conform required
		units`},
	{"sim/search", 11, `
		nsga2 search aim bayes merit warp pareto design cmaes fit gp goal minimise directions sobol move chart space`},
	{"sim/plan", 5, `
		workflows unheeded select ignored unstated memory horizon scenario site services world hardware prepare cluster
		nodesfile route policies spec failures`},
	{"hwmodel/fit", 3, `
		restart ratios powers placement node load readings rest states delays censored lifetime types cap clock bandwidth
		straight activity estimate fit`},
}
