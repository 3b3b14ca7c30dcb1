package importer

import "testing"

// One target for each format; TestEveryFormatIsFuzzed holds the list.

func FuzzImportAcme(f *testing.F)               { fuzzFormat(f, "acme") }
func FuzzImportAlibaba2017(f *testing.F)        { fuzzFormat(f, "alibaba-2017") }
func FuzzImportAlibaba2018(f *testing.F)        { fuzzFormat(f, "alibaba-2018") }
func FuzzImportAlibabaDlrm(f *testing.F)        { fuzzFormat(f, "alibaba-dlrm") }
func FuzzImportAlibabaGenai(f *testing.F)       { fuzzFormat(f, "alibaba-genai") }
func FuzzImportAlibabaSpotNodes(f *testing.F)   { fuzzFormat(f, "alibaba-spot-nodes") }
func FuzzImportAlibabaSpot(f *testing.F)        { fuzzFormat(f, "alibaba-spot") }
func FuzzImportAzureFunctions2019(f *testing.F) { fuzzFormat(f, "azure-functions-2019") }
func FuzzImportAzureFunctions2021(f *testing.F) { fuzzFormat(f, "azure-functions-2021") }
func FuzzImportAzureLlm(f *testing.F)           { fuzzFormat(f, "azure-llm") }
func FuzzImportBatsimJobs(f *testing.F)         { fuzzFormat(f, "batsim-jobs") }
func FuzzImportBatsim(f *testing.F)             { fuzzFormat(f, "batsim") }
func FuzzImportChronus(f *testing.F)            { fuzzFormat(f, "chronus") }
func FuzzImportCobalt(f *testing.F)             { fuzzFormat(f, "cobalt") }
func FuzzImportDax(f *testing.F)                { fuzzFormat(f, "dax") }
func FuzzImportElasticflow(f *testing.F)        { fuzzFormat(f, "elasticflow") }
func FuzzImportElectricityMaps(f *testing.F)    { fuzzFormat(f, "electricity-maps") }
func FuzzImportEntsoe(f *testing.F)             { fuzzFormat(f, "entsoe") }
func FuzzImportEpftoolbox(f *testing.F)         { fuzzFormat(f, "epftoolbox") }
func FuzzImportFta(f *testing.F)                { fuzzFormat(f, "fta") }
func FuzzImportGaia(f *testing.F)               { fuzzFormat(f, "gaia") }
func FuzzImportGavel(f *testing.F)              { fuzzFormat(f, "gavel") }
func FuzzImportGwf(f *testing.F)                { fuzzFormat(f, "gwf") }
func FuzzImportHelios(f *testing.F)             { fuzzFormat(f, "helios") }
func FuzzImportLanl(f *testing.F)               { fuzzFormat(f, "lanl") }
func FuzzImportLetsWaitAwhile(f *testing.F)     { fuzzFormat(f, "lets-wait-awhile") }
func FuzzImportLsf(f *testing.F)                { fuzzFormat(f, "lsf") }
func FuzzImportMooncake(f *testing.F)           { fuzzFormat(f, "mooncake") }
func FuzzImportOar(f *testing.F)                { fuzzFormat(f, "oar") }
func FuzzImportOpenb(f *testing.F)              { fuzzFormat(f, "openb") }
func FuzzImportOpendcCarbon(f *testing.F)       { fuzzFormat(f, "opendc-carbon") }
func FuzzImportOpendc(f *testing.F)             { fuzzFormat(f, "opendc") }
func FuzzImportPaiMachines(f *testing.F)        { fuzzFormat(f, "pai-machines") }
func FuzzImportPaiTasks(f *testing.F)           { fuzzFormat(f, "pai-tasks") }
func FuzzImportPbs(f *testing.F)                { fuzzFormat(f, "pbs") }
func FuzzImportPerSecond(f *testing.F)          { fuzzFormat(f, "per-second") }
func FuzzImportPhillyJson(f *testing.F)         { fuzzFormat(f, "philly-json") }
func FuzzImportPhillyMachines(f *testing.F)     { fuzzFormat(f, "philly-machines") }
func FuzzImportPhilly(f *testing.F)             { fuzzFormat(f, "philly") }
func FuzzImportSacctJson(f *testing.F)          { fuzzFormat(f, "sacct-json") }
func FuzzImportSacct(f *testing.F)              { fuzzFormat(f, "sacct") }
func FuzzImportSge(f *testing.F)                { fuzzFormat(f, "sge") }
func FuzzImportSia(f *testing.F)                { fuzzFormat(f, "sia") }
func FuzzImportSlurmSimulatorJobs(f *testing.F) { fuzzFormat(f, "slurm-simulator-jobs") }
func FuzzImportSlurmSimulator(f *testing.F)     { fuzzFormat(f, "slurm-simulator") }
func FuzzImportSlurmdbd(f *testing.F)           { fuzzFormat(f, "slurmdbd") }
func FuzzImportSteam(f *testing.F)              { fuzzFormat(f, "steam") }
func FuzzImportSwf(f *testing.F)                { fuzzFormat(f, "swf") }
func FuzzImportTiresias(f *testing.F)           { fuzzFormat(f, "tiresias") }
func FuzzImportTitanGpus(f *testing.F)          { fuzzFormat(f, "titan-gpus") }
func FuzzImportUsCarbon(f *testing.F)           { fuzzFormat(f, "us-carbon") }
func FuzzImportWfformat(f *testing.F)           { fuzzFormat(f, "wfformat") }
func FuzzImportWorldcup98(f *testing.F)         { fuzzFormat(f, "worldcup98") }
func FuzzImportWtf(f *testing.F)                { fuzzFormat(f, "wtf") }
