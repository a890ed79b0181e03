import * as v from 'valibot'
import type { Hex } from 'viem'
import { documented, evmAddress } from '../../../http/request/input.ts'
import { type Charge, PER_CALL } from '../../../http/route/charge.ts'
import { textSchema } from '../../../lib/text/text_format.ts'
import { LENDING_FIGURES } from '../../lending/watched.ts'
import type { Watchable } from '../../watch.ts'

const MARKET_ID = { pattern: /^0x[0-9a-fA-F]{64}$/, words: '0x and 64 hex digits' }
const EXPECTED_MARKET = 'expected the id of a Morpho market, 0x and 64 hexadecimal digits'

/** Schema of a market id; returned in lower case. */
export const marketId = v.pipe(
  v.string(EXPECTED_MARKET),
  v.regex(MARKET_ID.pattern, EXPECTED_MARKET),
  v.transform((text) => text.toLowerCase() as Hex),
  documented({ ...textSchema(MARKET_ID), description: 'Id of the market, 32 bytes.' }),
)

/** Name of the family in errors. */
export const NAME = 'Morpho Blue'

/** Charges of the family's routes. */
export const CHARGES = {
  list: { credits: 15, per: 'chain on which the wallet has a position', terms: 'counted before pagination' },
  yield: { credits: 8, per: PER_CALL },
} satisfies Record<string, Charge>

/** The family as tools for agents name it. */
export const PROTOCOL = { code: 'morpho-blue', name: 'Morpho Blue' }

const subject = v.strictObject({ wallet: evmAddress, market_id: marketId })

/** Description of the family's subject: a wallet in a market. */
export const WATCHABLE: Watchable = {
  subject: () => subject,
  figures: LENDING_FIGURES,
  events: [],
  answerPath: ({ wallet, market_id }, chainId, blockNumber) =>
    `/v1/lending/morpho-blue?wallet=${wallet}&chain_id=${chainId}&market_id=${market_id}&at_block=${blockNumber}`,
}
