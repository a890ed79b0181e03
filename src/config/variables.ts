import { wrapText } from '../lib/text/wrap_text.ts'

/** A row of environment variables. The texts are Markdown, because README and guides list them. */
interface VariableRow {
  readonly names: readonly string[]
  /** Default: a value in backticks for each name, or one for all, or a description. */
  readonly without: string
  readonly meaning: string
}

/** Variables that README lists, for a first setup. */
export const FIRST_VARIABLES = [
  {
    names: ['PORT', 'HOST'],
    without: '`8080`, `127.0.0.1`',
    meaning: 'where it listens (`0.0.0.0` in the Docker image)',
  },
  {
    names: ['DATABASE_URL'],
    without: 'none',
    meaning:
      'PostgreSQL 15 or later, also several hosts of which one is the primary; TLS with a verified certificate, except ' +
      'on loopback or a socket (`?sslrootcert=/path/authority.pem` trusts a private authority; ' +
      '`DATABASE_TLS=unverified` or `off` asks for less). Without it, the embedded PostgreSQL in `DATA_DIR`',
  },
  {
    names: ['DATA_DIR'],
    without: '`./data`',
    meaning: 'the embedded database, and the journal of charges to void',
  },
  {
    names: ['OPERATOR_PORT'],
    without: 'none',
    meaning:
      'a separate port for `/metrics`, `/readyz`, `/admin/v1` and `/operator`, which then leave `PORT`; 8081 in the ' +
      'Docker image',
  },
  {
    names: ['ADMIN_TOKEN'],
    without: 'none',
    meaning: 'bearer token of `/admin/v1`, at least 16 characters; without it only sessions open that plane',
  },
  {
    names: ['PUBLIC_URL'],
    without: 'from the request',
    meaning: 'base of `next_page` and `prev_page`; set it if others can reach the service; its name is answered',
  },
  {
    names: ['CHAINS'],
    without: 'seven large ones, Solana, and every chain that `RPC_URL_<chain id>` or `CHAINS_FILE` names',
    meaning: 'ids of the chains to serve, separated by commas; `101` is Solana, which a set `SOLANA_RPC_URL` adds',
  },
  {
    names: ['RPC_URL_<chain id>'],
    without: 'public endpoints',
    meaning: 'URLs, separated by commas, tried in order of health',
  },
  {
    names: ['SOLANA_RPC_URL'],
    without: 'three public endpoints',
    meaning: 'the same for Solana; without one that searches programs, lists of Kamino may miss some',
  },
  {
    names: ['CHAINS_FILE'],
    without: 'none',
    meaning:
      'JSON that adds chains or changes built-in ones, see [Chains](src/dashboard/guide/chains.md#the-chains-file)',
  },
  {
    names: ['SNAPSHOTS', 'MCP', 'HISTORY', 'TRIGGERS'],
    without: '`on`',
    meaning: '`off` answers 403 `FEATURE_DISABLED`, whatever `settings` says',
  },
  {
    names: ['LOG_LEVEL'],
    without: '`info`',
    meaning: '`debug`, `info`, `warn`, `error`; JSON lines on standard error',
  },
] as const satisfies readonly VariableRow[]

/** Additional variables, which the guide Operating lists. */
export const FURTHER_VARIABLES = [
  {
    names: ['WORKERS'],
    without: '`1`',
    meaning:
      'worker processes sharing one listener and one database: as many as cores to spare ([Workers](operating.md#workers))',
  },
  {
    names: ['DRAIN_SECONDS'],
    without: '`0`',
    meaning: 'how long requests are still taken after `/readyz` has turned 503, 600 at most; `kit` sets 10 or more',
  },
  {
    names: ['DATABASE_READ_URL'],
    without: 'none',
    meaning:
      'a standby of `DATABASE_URL` that reads the log and histories ([Standby](operating.md#several-processes-one-database))',
  },
  {
    names: ['DATABASE_TLS'],
    without: '`verify`',
    meaning:
      '`unverified` takes any certificate, `off` sends passwords and data in the clear: for private networks, warned ' +
      'about; nothing changes on loopback or a socket',
  },
  {
    names: ['TRUSTED_PROXIES'],
    without: 'none',
    meaning:
      "addresses or networks of your proxies, separated by commas: behind them a caller's address is the last one in " +
      '`X-Forwarded-For` or `Forwarded` that no proxy of yours has; none if both differ',
  },
  {
    names: ['ALLOWED_HOSTS'],
    without: 'none',
    meaning: 'additional host names clients may use (`Host`), separated by commas; `*` for any',
  },
  {
    names: ['INSTANCE_KEY_FILE'],
    without: 'in the database',
    meaning:
      'private key of Ed25519 (PEM) that signs receipts and [messages](triggers.md#for-the-operator); of several keys ' +
      'the first',
  },
  {
    names: ['WEBHOOK_ALLOWED_CIDRS'],
    without: 'none',
    meaning: 'private networks that webhooks may reach, also by `http`',
  },
  {
    names: ['LOG_RETENTION_DAYS'],
    without: '`90`',
    meaning: 'how long the request log is kept, at least 90; `0` keeps it always',
  },
  {
    names: ['TOKEN_LISTS'],
    without: 'none',
    meaning: 'Token Lists files, separated by commas: more tokens for portfolios',
  },
  {
    names: ['HISTORY_REQUESTS_PER_SECOND'],
    without: '`50`',
    meaning: 'background requests a second to the endpoints of one chain (histories, snapshots); `0` for no limit',
  },
  {
    names: ['CORS_ORIGINS'],
    without: 'none',
    meaning: 'origins that browsers may call from',
  },
  {
    names: ['ACCESS_LOG'],
    without: '`off`',
    meaning: '`on` logs a line for each answered request at `info` ([Log](operating.md#the-log))',
  },
  {
    names: ['PIPELINING'],
    without: '`off`',
    meaning: '`on` answers requests that come before the answer to the last one, at twice the CPU a request',
  },
] as const satisfies readonly VariableRow[]

const VARIABLES: readonly VariableRow[] = [...FIRST_VARIABLES, ...FURTHER_VARIABLES]

type ListedName = (typeof FIRST_VARIABLES | typeof FURTHER_VARIABLES)[number]['names'][number]

/** Endpoints of one chain. */
export type RpcVariable = `RPC_URL_${string}`

/** Variables that may be read: only listed ones. */
export type VariableName = Exclude<ListedName, typeof RPC_URL_LISTED> | RpcVariable

/** The listed name of `RpcVariable`. */
export const RPC_URL_LISTED = 'RPC_URL_<chain id>'

/** Names of all variables, of endpoints as they are listed. */
export const LISTED_NAMES: readonly string[] = VARIABLES.flatMap(({ names }) => names)

/** Columns of a meaning, beside its indentation. */
const COLUMNS = 94

/** Returns all variables as plain text for a terminal. */
export function variablesText(): string {
  const rows = VARIABLES.map(({ names, without, meaning }) =>
    [`  ${names.join(', ')} (${toPlainText(without)})`, ...wrapText(toPlainText(meaning), COLUMNS)].join('\n      '),
  )
  const files = 'Secrets and URLs may come from files: DATABASE_URL_FILE, ADMIN_TOKEN_FILE, RPC_URL_1_FILE, …'
  return ['Environment variables (defaults in parentheses):', '', ...rows, '', files].join('\n')
}

/** Removes Markdown; links to guides become their served addresses. */
function toPlainText(markdown: string): string {
  return markdown
    .replaceAll('`', '')
    .replace(/\[([^\]]+)\]\((?:src\/dashboard\/guide\/)?(\w+)\.md(#[\w-]+)?\)/g, '$1: /docs/$2$3')
}
