import { LOGIN_LINK_SEC } from '../../account/session.ts'
import { listServedChainIds } from '../../config/chains.ts'
import type { Config } from '../../config/config.ts'
import { formatServerUrl } from '../../http/server/listening.ts'
import { isLoopback } from '../../lib/loopback.ts'
import type { FirstStart } from '../embedded_database.ts'
import type { Ports } from '../process/channel.ts'
import { loginUrl } from './login_url.ts'
import type { StartOptions } from './options.ts'

/** Prints the key and the links of a first start. */
export function printFirstStart(config: Config, first: FirstStart, listens: Ports, out: StartOptions['out']): void {
  const { organizationId, key, credits, links } = first
  const operator = loginUrl(config, { secret: links.operator, isOperator: true, listens })
  const organization = loginUrl(config, { secret: links.organization, isOperator: false, listens })
  const lines = [
    '',
    `First start: created the organization "default" (${organizationId}) with ${credits.toLocaleString('en')} credits.`,
    'Its API key, shown this once:',
    '',
    `  ${key}`,
    '',
    `Links that sign in once, within ${LOGIN_LINK_SEC / 60} minutes (later: walletscope login):`,
    '',
    `  operator      ${operator}`,
    `  organization  ${organization}`,
    '',
  ]
  out(lines.join('\n'))
}

/** Logs the address, and warns about unsafe settings. */
export function logListening(config: Config, listens: Ports, { log, out }: Pick<StartOptions, 'log' | 'out'>): void {
  const { host, databaseTls, publicUrl, workers, omissions } = config
  const { port, operatorPort } = listens
  const chains = listServedChainIds(config)
  log.info({ msg: 'Listening', host, port, operatorPort, chains, workers: workers === 1 ? undefined : workers })
  if (publicUrl === undefined && !isLoopback(host)) log.warn({ msg: LINKS_FOLLOW_HOST })
  for (const { chainId, omitted } of omissions) log.warn({ msg: LEAVES_OUT, chainId, omitted })
  if (databaseTls !== 'verify') log.warn({ msg: UNPROTECTED[databaseTls] })
  out(`walletscope listens on ${formatServerUrl(host, port)}`)
  if (operatorPort !== undefined) out(`Operator pages: ${formatServerUrl(host, operatorPort)}`)
}

const UNPROTECTED = {
  off: 'DATABASE_TLS is off: passwords and data cross the network to the database unprotected',
  unverified:
    'DATABASE_TLS is unverified: an attacker between this process and the database can read and change everything',
}

const LEAVES_OUT =
  'A row of CHAINS_FILE leaves out what is built in: its lists stand in place of the built-in ones, those under "add" are joined to them'

const LINKS_FOLLOW_HOST =
  'PUBLIC_URL is not set: next_page and prev_page follow the Host header of each request, over http, and names that ALLOWED_HOSTS does not list are refused'
