import type { RefusalReaction } from '../../../../src/history/logs/refusal.ts'

/** One provider's refusal of a request for logs of blocks 1,000,000 to 1,999,999, and what it asks for. */
export interface Dialect {
  readonly provider: string
  readonly status: number
  readonly code: number
  readonly words: string
  readonly reaction: RefusalReaction
}

const range = (blocks: number | undefined): RefusalReaction => ({ kind: 'range', blocks })
const results = (blocks?: number): RefusalReaction => ({ kind: 'results', blocks })
const rate = (pauseMs?: number): RefusalReaction => ({ kind: 'rate', pauseMs })

function says(
  provider: string,
  words: string,
  reaction: RefusalReaction,
  { code = -32000, status = 200 }: { readonly code?: number; readonly status?: number } = {},
): Dialect {
  return { provider, status, code, words, reaction }
}

/** Range refusals, by provider: what a capped endpoint says. */
export const RANGE_DIALECTS: readonly Dialect[] = [
  says(
    'Alchemy',
    'Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0xf4240, 0xf4249]. Upgrade to PAYG for expanded block range.',
    range(10),
    { code: -32600, status: 400 },
  ),
  says('Infura', 'range 1000000 exceeds limit of 10000', range(10_000), { code: -32602 }),
  says('QuickNode', 'eth_getLogs is limited to a 10,000 range', range(10_000), { code: -32614, status: 413 }),
  says(
    'Chainstack',
    'Block range limit exceeded. See more details at https://docs.example/limits#range',
    range(500_000),
  ),
  says('Ankr', 'Block range is too large', range(500_000), { code: -32062, status: 400 }),
  says('dRPC', 'ranges over 10000 blocks are not supported on freetier', range(10_000), { code: 35, status: 400 }),
  says('1RPC', 'eth_getLogs is limited to 0 - 10000 blocks range', range(10_000), { code: -32001 }),
  says('Cloudflare', "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800", range(800), {
    code: -32047,
  }),
  says('PublicNode', 'exceed maximum block range: 50000', range(50_000), { code: -32701 }),
  says('LlamaNodes, reth', 'query exceeds max block range 100000', range(100_000), { code: -32602 }),
  says('Frontier', 'block range is too wide (maximum 1024)', range(1_024), { code: -32603 }),
  says('BlockPi', 'eth_getLogs block range too large, range: 1000000, max: 1024', range(1_024)),
  says('Avalanche', 'requested too many blocks from 1000000 to 1999999, maximum is set to 2048', range(2_048)),
  says('thirdweb', 'Maximum allowed number of requested blocks is 3500', range(3_500), { status: 400 }),
  says(
    'Morph',
    'block range is larger than max block range, block range = 1000000, max block range = 5000',
    range(5_000),
  ),
  says('Sei', 'block range too large (1000000), maximum allowed is 2000 blocks', range(2_000)),
  says('Harmony', 'query must be smaller than size 1024', range(1_024)),
  says('Candle', 'block range too high', range(500_000), { code: -32600 }),
]

/** Refusals of answers that would be too long or take too long. */
export const RESULT_DIALECTS: readonly Dialect[] = [
  says(
    'Alchemy',
    'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0xf4240, 0xfa23f]',
    results(24_576),
    { code: -32602, status: 400 },
  ),
  says(
    'Alchemy',
    'Query timeout exceeded. Consider reducing your block range. Based on your parameters and the response size limit, this block range should work: [0xf4240, 0xf4428]',
    results(489),
    { status: 400 },
  ),
  says(
    'Infura',
    'query returned more than 10000 results. Try with this block range [0xF4240, 0xF5000].',
    results(3_521),
    { code: -32005 },
  ),
  says('reth', 'query exceeds max results 20000, retry with the range 1000000-1000400', results(401), { code: -32602 }),
  says('BNB Chain', 'limit exceeded', results(), { code: -32005 }),
  says('Erigon', 'logs matched by query exceeds limit of 10000', results()),
  says('Frontier', 'query timeout of 10 seconds exceeded', results(), { code: -32603 }),
  says('Optimism', 'backend response too large', results(), { code: -32020, status: 500 }),
  says('Base', 'Content Too Large', results(), { code: 0, status: 413 }),
  says('Nethermind', 'eth_getLogs request was canceled due to enabled timeout.', results(), { code: -32016 }),
]

/** Every other refusal. */
export const OTHER_DIALECTS: readonly Dialect[] = [
  says('Infura', 'project ID request rate exceeded', rate(), { code: -32005, status: 429 }),
  says('Infura', 'daily request count exceeded, request rate limited', rate(), { code: -32005 }),
  says(
    'QuickNode',
    '50/second request limit reached - reduce calls per second or upgrade your account at quicknode.com',
    rate(),
    { code: -32007 },
  ),
  says('Alchemy', 'Your app has exceeded its compute units per second capacity.', rate(), { code: 429, status: 429 }),
  says('Base', 'over rate limit', rate(), { code: -32016 }),
  says('Cloudflare', '<html>error 1015</html>', rate(), { code: 0, status: 429 }),
  says('geth', 'pruned history unavailable', { kind: 'pruned' }, { code: 4444 }),
  says(
    'Chainstack',
    'Archive, Debug and Trace requests are not available on your current plan.',
    { kind: 'pruned' },
    { code: -32002, status: 403 },
  ),
  says('geth', 'block range extends beyond current head block', { kind: 'behind' }, { code: -32602 }),
  says(
    'Nethermind',
    'One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found.',
    { kind: 'behind' },
    { code: -32001 },
  ),
  says('geth', 'unknown block', { kind: 'behind' }),
  says('geth', 'exceed max topics', { kind: 'filter' }),
  says('Infura', 'too many parameters in the request', { kind: 'filter' }, { code: -32005 }),
  says(
    'nginx',
    '<html><title>413 Request Entity Too Large</title></html>',
    { kind: 'filter' },
    { code: 0, status: 413 },
  ),
  says('BNB Chain', 'the method eth_getLogs does not exist/is not available', { kind: 'unable' }, { code: -32601 }),
  says('Tenderly', 'eth_getLogs is not allowed for this key', { kind: 'unable' }, { code: -32600, status: 403 }),
  says(
    'Ankr',
    'Unauthorized: You must authenticate your request with an API key.',
    { kind: 'unable' },
    { code: -32000, status: 401 },
  ),
]
