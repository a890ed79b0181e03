import * as v from 'valibot'
import type { Hex } from 'viem'
import { documented } from '../../../http/request/input.ts'
import { textSchema } from '../../../lib/text/text_format.ts'

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
