import { expect } from 'bun:test'
import { TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import type { Devnet } from '../../devnet/mod.ts'
import type { Scenario } from './scenarios.ts'

const BALANCE = '/v1/portfolio/balance'
const ASSETS = '/v1/portfolio/assets'
const SNAPSHOTS = '/v1/portfolio/snapshots'
const MANY = Array.from({ length: 101 }, (_, index) => toWalletAddress(`token ${index}`)).join()

/** Scenarios of portfolios. This service has Aave markets that do not exist, so its chain cannot be read completely. */
export function portfolioScenarios({ wallets: { provider } }: Devnet): readonly Scenario[] {
  const refused = (name: string, query: string, says: string | RegExp, code = 'INVALID_PARAMETER') =>
    [BALANCE, ASSETS].map(
      (path): Scenario => ({
        name: `${path}: ${name}`,
        target: `${path}?wallet=${provider}&${query}`,
        status: 400,
        code,
        says,
        log: { path, credits: 0 },
      }),
    )
  return [
    ...refused('101 tokens', `chain_id=1&tokens=${MANY}`, 'expected 1 to 100 EVM addresses'),
    ...refused('a token that is no address', 'chain_id=1&tokens=dai', 'EVM address'),
    ...refused('the zero address as token', `chain_id=1&tokens=0x${'0'.repeat(40)}`, 'no native token'),
    ...refused('the native token as token', `chain_id=1&tokens=0x${'e'.repeat(40)}`, 'no native token'),
    ...refused(
      'tokens without their chain',
      `tokens=${TOKENS.dai.address}`,
      'required with "tokens"',
      'MISSING_PARAMETER',
    ),
    ...refused('a block without its chain', 'at_block=5', 'required with "at_block"', 'MISSING_PARAMETER'),
    ...refused('a block to come', 'chain_id=1&at_block=99999999', 'the newest block of chain 1'),
    ...refused('the first block', 'chain_id=1&at_block=0', 'expected a later block than the first'),
    ...refused('a chain that is not served', 'chain_id=5', /\(1, 101\)/),
    ...refused('Solana for an EVM wallet', 'chain_id=101', 'expected an EVM chain for an EVM wallet'),
    ...refused('a flag in other words', 'allow_partial=yes', 'expected true or false'),
    ...refused('a mistyped name', 'include_unlistd=true', 'did you mean "include_unlisted"?'),
    ...[
      { name: 'a kind that does not exist', query: 'kind=debt', says: '"kind"' },
      { name: 'a flag for counted in other words', query: 'counted=1', says: '"counted"' },
      { name: 'a limit above 25', query: 'limit=26', says: '"limit"' },
    ].map(
      ({ name, query, says }): Scenario => ({
        name: `${ASSETS}: ${name}`,
        target: `${ASSETS}?wallet=${provider}&${query}`,
        status: 400,
        code: 'INVALID_PARAMETER',
        says,
        log: { path: ASSETS, credits: 0 },
      }),
    ),
    ...[
      { name: 'no midnight', query: 'chain_id=1&max_snapshots=0', says: '"max_snapshots"' },
      { name: '367 midnights', query: 'chain_id=1&max_snapshots=367', says: '"max_snapshots"' },
      { name: 'the native token', query: `chain_id=1&tokens=0x${'e'.repeat(40)}`, says: 'no native token' },
      { name: 'a moment', query: 'chain_id=1&at_block=5', says: '"at_block"' },
    ].map(
      ({ name, query, says }): Scenario => ({
        name: `${SNAPSHOTS}: ${name}`,
        target: `${SNAPSHOTS}?wallet=${provider}&${query}`,
        status: 400,
        code: 'INVALID_PARAMETER',
        says,
        log: { path: SNAPSHOTS, credits: 0 },
      }),
    ),
    {
      name: `${SNAPSHOTS}: without a chain`,
      target: `${SNAPSHOTS}?wallet=${provider}`,
      status: 400,
      code: 'MISSING_PARAMETER',
      says: '"chain_id"',
      log: { path: SNAPSHOTS, credits: 0 },
    },
    ...[BALANCE, ASSETS].map(
      (path): Scenario => ({
        name: `${path}: the only chain cannot be read, and the answer says why`,
        target: `${path}?wallet=${provider}`,
        status: 502,
        code: 'UPSTREAM_ERROR',
        says: /^Cannot read chain 1 \(.*\) because market "main" does not answer in US dollars$/,
        log: { path, credits: 0 },
      }),
    ),
    {
      name: `${BALANCE}: with nothing readable, nothing is summed and nothing charged`,
      target: `${BALANCE}?wallet=${provider}&allow_partial=true`,
      status: 200,
      answers: { 'x-credits-charged': '0' },
      body: ({ data }) => {
        expect(data).toMatchObject({ net_worth_usd: '0.000000', by_chain: [], complete: false })
        expect(data.unread).toEqual([{ chain_id: 1, because: expect.stringContaining('market "main"') }])
      },
      log: { path: BALANCE, credits: 0 },
    },
  ]
}
