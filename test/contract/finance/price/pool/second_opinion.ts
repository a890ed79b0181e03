import { type Address, concatHex, encodePacked, type Hex, keccak256, numberToHex, parseAbi } from 'viem'
import { type Placed, POOL_ABI, type Stage, type StagedPool, type World } from './stage.ts'

/**
 * The rule of prices by pools once more, in floating-point numbers, from plain calls: liquidity is summed over the
 * positions that a world made, not over ticks.
 */

const POSITION_ABI = parseAbi([
  'function positions(bytes32 key) view returns (uint128 liquidity, uint256, uint256, uint128, uint128)',
])
const BALANCE_ABI = parseAbi(['function balanceOf(address) view returns (uint256)'])
const WINDOW_SEC = 1_800
const NEAR = 513
const HALF = 6_932

export interface SecondOpinion {
  readonly price: number | undefined
  readonly debtPrice: number | undefined
  readonly bound: number
  readonly marks: readonly string[]
  /** The least distance of a comparison from its threshold, as a fraction: floats decide none that is very small. */
  readonly margin: number
}

/** Moments of the looks at a block, seconds since the epoch. */
export function lookTimes({ hash, timestamp }: { readonly hash: Hex; readonly timestamp: bigint }): number[] {
  return [0, 1, 2].map((index) => {
    const digest = BigInt(keccak256(concatHex([hash, numberToHex(index, { size: 1 })])))
    return Number(timestamp) - (600 * index + 1 + Number(digest % 600n))
  })
}

interface State {
  readonly timeSec: number
  /** Ticks of the token's price. */
  readonly spot: number
  readonly balance: number
  readonly ranges: readonly { readonly low: number; readonly high: number; readonly liquidity: number }[]
  readonly sums: { readonly ticks: bigint; readonly inverse: bigint }
}

const root = (tick: number) => 1.0001 ** (tick / 2)

async function readState(
  world: World,
  {
    pool,
    placed,
    blockNumber,
  }: { readonly pool: StagedPool; readonly placed: readonly Placed[]; readonly blockNumber: bigint },
): Promise<State | undefined> {
  const { client } = world.stage
  const at = { address: pool.address, blockNumber } as const
  const code = await client.getCode(at)
  if (code === undefined) return undefined
  const [sqrtPriceX96] = await client.readContract({ ...at, abi: POOL_ABI, functionName: 'slot0' })
  if (sqrtPriceX96 === 0n) return undefined
  const [block, balance, observed] = await Promise.all([
    client.getBlock({ blockNumber }),
    client.readContract({
      address: pool.quote.address,
      abi: BALANCE_ABI,
      functionName: 'balanceOf',
      args: [pool.address],
      blockNumber,
    }),
    client.readContract({ ...at, abi: POOL_ABI, functionName: 'observe', args: [[0]] }),
  ])
  const poolTick = (2 * Math.log(Number(sqrtPriceX96) / 2 ** 96)) / Math.log(1.0001)
  const keys = new Map<Hex, readonly [number, number]>()
  for (const { trader, args } of placed.filter((each) => each.pool === pool)) {
    const [, lower, upper] = args
    const key = keccak256(encodePacked(['address', 'int24', 'int24'], [trader, lower, upper]))
    keys.set(key, world.side === 'token0' ? [lower, upper] : [-upper, -lower])
  }
  const ranges = await Promise.all(
    [...keys].map(async ([key, [low, high]]) => {
      const [liquidity] = await client.readContract({
        ...at,
        abi: POSITION_ABI,
        functionName: 'positions',
        args: [key],
      })
      return { low, high, liquidity: Number(liquidity) }
    }),
  )
  const [[ticks = 0n], [inverse = 0n]] = observed
  return {
    timeSec: Number(block.timestamp),
    spot: world.side === 'token0' ? poolTick : -poolTick,
    balance: Number(balance),
    ranges: ranges.filter(({ liquidity }) => liquidity > 0),
    sums: { ticks, inverse },
  }
}

function standing({ ranges }: State, from: number, to: number): number {
  return ranges.reduce((sum, { low, high, liquidity }) => {
    const [a, b] = [Math.max(low, from), Math.min(high, to)]
    return b > a ? sum + liquidity * (root(b) - root(a)) : sum
  }, 0)
}

interface Slice {
  readonly seconds: number
  readonly tick: number
  readonly liquidity: number
}

function slice(world: World, first: State['sums'], last: State['sums'], seconds: number): Slice {
  const mean = Number(last.ticks - first.ticks) / seconds
  const inverse = Number(BigInt.asUintN(160, last.inverse - first.inverse))
  const tick = Math.floor(mean)
  return { seconds, tick: world.side === 'token0' ? tick : -tick, liquidity: (seconds * 2 ** 128) / inverse }
}

/** The value that is reached when this share of the seconds lies at or below. */
function quantile(rows: readonly { readonly value: number; readonly seconds: number }[], share: number): number {
  const sorted = rows.toSorted((a, b) => a.value - b.value)
  const total = sorted.reduce((sum, { seconds }) => sum + seconds, 0)
  let sum = 0
  for (const { value, seconds } of sorted) {
    sum += seconds
    if (sum > share * total) return value
  }
  return Number.NaN
}

interface Voice {
  readonly mean: number
  readonly recent: number
  readonly bid: number
  readonly stood: number
  readonly seen: number
  readonly half: number
  readonly stoodHalf: number
}

async function hear(world: World, { pool, placed, head, looks, start }: PoolQuestion): Promise<Voice | undefined> {
  const { quote } = pool
  const dollars = (raw: number) => (raw / 10 ** quote.decimals) * quote.usd
  const states = await Promise.all(
    [head, ...looks, ...(start === undefined ? [] : [start])].map((blockNumber) =>
      readState(world, { pool, placed, blockNumber }),
    ),
  )
  const now = states[0]
  if (now === undefined) return undefined
  const slices = await remember(world, pool, head).catch(() => {
    const known = states.filter((each) => each !== undefined).toSorted((a, b) => a.timeSec - b.timeSec)
    return known.slice(1).flatMap((last, index) => {
      const first = known[index] ?? last
      const seconds = last.timeSec - first.timeSec
      return seconds > 0 ? [slice(world, first.sums, last.sums, seconds)] : []
    })
  })
  const total = slices.reduce((sum, { seconds }) => sum + seconds, 0)
  const missing = { value: 0, seconds: Math.max(0, WINDOW_SEC - total) }
  const liquidity = quantile(
    [...slices.map((each) => ({ value: each.liquidity, seconds: each.seconds })), missing],
    5 / 12 + 1e-12,
  )
  const stood = slices.filter((each) => each.liquidity >= liquidity * (1 - 1e-6))
  const whole = stood.filter((each) => each.liquidity > each.seconds)
  const tick = quantile(
    (whole.length > 0 ? whole : stood).map((each) => ({ value: each.tick, seconds: each.seconds })),
    0.5 - 1e-12,
  )
  let [left, ticks, weight] = [300, 0, 0]
  for (const each of slices.toReversed()) {
    const taken = Math.min(left, each.seconds)
    left -= taken
    if (each.liquidity <= each.seconds || each.liquidity < liquidity / 100) continue
    ticks += each.tick * taken
    weight += taken
  }
  const second = (values: readonly number[]) => values.toSorted((a, b) => a - b)[1] ?? 0
  const four = states.slice(0, 4)
  const flat = (fall: number) => dollars(liquidity * root(tick) * (1 - root(-fall)))
  const usd = (at: number) => 1.0001 ** at * 10 ** (18 - quote.decimals) * quote.usd
  const tops = four.map((each) => {
    const below =
      each?.ranges
        .filter(({ low, high }) => low < each.spot && high > each.spot - HALF)
        .map(({ high }) => Math.min(high, each.spot)) ?? []
    return below.length === 0 ? Number.NEGATIVE_INFINITY : Math.max(...below)
  })
  return {
    mean: usd(tick),
    recent: weight === 0 ? usd(tick) : usd(Math.floor(ticks / weight)),
    bid: usd(second(tops)),
    stood: slices.length === 0 ? 0 : flat(NEAR),
    seen: second(
      four.map((each) =>
        each === undefined
          ? 0
          : dollars(
              Math.min(
                standing(each, each.spot - NEAR, each.spot),
                standing(each, each.spot, each.spot + NEAR),
                each.balance,
              ),
            ),
      ),
    ),
    half: second(four.map((each) => (each === undefined ? 0 : dollars(standing(each, each.spot - HALF, each.spot))))),
    stoodHalf: slices.length === 0 ? 0 : flat(HALF),
  }
}

/** The twelve slices of a pool that remembers half an hour. */
async function remember(world: World, { address }: StagedPool, blockNumber: bigint): Promise<Slice[]> {
  const ago = Array.from({ length: 13 }, (_, index) => WINDOW_SEC - index * 150)
  const asked = { address, abi: POOL_ABI, functionName: 'observe', args: [ago], blockNumber } as const
  const [ticks, inverse] = await world.stage.client.readContract(asked)
  const sums = ticks.map((each, index) => ({ ticks: each, inverse: inverse[index] ?? 0n }))
  return sums.slice(1).map((last, index) => slice(world, sums[index] ?? last, last, 150))
}

interface PoolQuestion {
  readonly pool: StagedPool
  readonly placed: readonly Placed[]
  readonly head: bigint
  readonly looks: readonly bigint[]
  /** Block of half an hour ago, if it was read. */
  readonly start: bigint | undefined
}

export interface Question extends Omit<PoolQuestion, 'pool'> {
  readonly stage: Stage
  readonly token: Address
}

export async function judge(world: World, question: Omit<PoolQuestion, 'pool'>): Promise<SecondOpinion> {
  const heard = await Promise.all(world.pools.map((pool) => hear(world, { ...question, pool })))
  const voices = heard.filter((each) => each !== undefined)
  let margin = Number.POSITIVE_INFINITY
  const atLeast = (value: number, limit: number) => {
    margin = Math.min(margin, Math.abs(value / limit - 1))
    return value >= limit
  }
  const near = (a: number, b: number) => !atLeast(Math.abs(Math.log(a / b)), NEAR * Math.log(1.0001) * (1 + 1e-12))
  const vote = (price: (voice: Voice) => number, weigh: (voice: Voice) => number, least: number) => {
    const voters = voices
      .map((voice) => ({ voice, price: price(voice), weight: weigh(voice) }))
      .filter(({ price: each, weight }) => Number.isFinite(each) && each > 0 && atLeast(weight, least / 10))
    const middle = median(voters)
    const around = voters.filter((each) => near(each.price, middle))
    const weight = around.reduce((sum, each) => sum + each.weight, 0)
    return voters.length > 0 && atLeast(weight, least) ? { middle, around } : undefined
  }
  const median = (votes: readonly { readonly price: number; readonly weight: number }[]) => {
    const total = votes.reduce((sum, { weight }) => sum + weight, 0)
    let sum = 0
    for (const { price, weight } of votes.toSorted((a, b) => a.price - b.price)) {
      sum += weight
      margin = Math.min(margin, Math.abs((2 * sum) / total - 1))
      if (2 * sum >= total) return price
    }
    return Number.NaN
  }
  const mean = (voice: Voice) => voice.mean
  const depth = (voice: Voice) => Math.min(voice.stood, voice.seen)
  const firm = vote(mean, depth, 1_000)
  const result = firm ?? vote(mean, depth, 10) ?? vote(mean, (voice) => voice.stood, 10)
  if (result === undefined) {
    const bids = vote(
      (voice) => voice.bid,
      (voice) => voice.half,
      10,
    )
    if (bids === undefined) return { price: undefined, debtPrice: undefined, bound: 0, marks: ['gone'], margin }
    const bound = bids.around.reduce((sum, { voice }) => sum + voice.half, 0)
    return { price: bids.middle, debtPrice: bids.middle, bound, marks: ['one_sided'], margin }
  }
  const recent = median(result.around.map(({ voice, weight }) => ({ price: voice.recent, weight })))
  const veto = vote(mean, (voice) => voice.seen, 1_000)?.middle
  const isDisputed = veto !== undefined && !near(veto, result.middle)
  const prices = [result.middle, recent, ...(isDisputed ? [veto] : [])]
  return {
    price: Math.min(...prices),
    debtPrice: Math.max(...prices),
    bound: result.around.reduce((sum, { voice }) => sum + Math.min(voice.half, voice.stoodHalf), 0),
    marks: [
      ...(firm === undefined ? ['thin'] : []),
      ...(near(recent, result.middle) ? [] : ['moved']),
      ...(isDisputed ? ['disputed'] : []),
    ],
    margin,
  }
}
