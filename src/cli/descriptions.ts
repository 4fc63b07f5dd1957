/** What each verb does, apart from the verbs: `--help` prints them all without loading one. */
export const descriptions = {
  serve: 'Serve over Streamable HTTP, or over stdio with --stdio, until stopped.',
  check:
    'Load a configuration with its sources and report all problems; exit code 1 if there is an error.',
  list: 'List every capability with its origin, effects and rules.',
  call: 'Make one governed call and print its result; exit code 1 if it failed.',
  project:
    'Convert an agent manifest to another format as canonical JSON: the same input gives the same bytes.',
  connect:
    "Print the configuration that connects an MCP client; --write merges it into the client's file.",
  explain:
    'Show what every governance step would decide about a call, without making it; exit code 1 if it would not run.',
  diff: 'Compare two configurations; exit code 1 if a change widens access or breaks clients.',
  import: 'Draft an agent.yaml from an OpenAPI document, with every guess marked for review.',
  approvals: 'List, approve and deny calls that wait for an approval.',
  runs: 'List runs of tools with side effects, and settle those whose outcome is unknown.',
  executions:
    'Show how intents were routed to agents; rerun an execution, or resume an interrupted one.',
  clock: "Compare the system clock with the ledger's clock, and confirm that it is right.",
  audit: 'Show who called what, and the outcome; --verify checks the hash chain.',
  store:
    'Check, back up, restore and repair a ledger or a records store: drawbridge store [check|backup|restore|repair] [FILE].',
  records:
    'Manage your own records store: drawbridge records [streams|declare|import|export] [FILE].',
  grants:
    'Manage who may read which records: drawbridge grants [list|create|show|token|revoke] [ID].',
  token: 'Create a bearer token, and its entry for http.tokens, which contains only the hash.',
} as const
