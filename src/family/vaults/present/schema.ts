import * as v from 'valibot'
import { chainId, evmAddress, usdFigure as usd } from '../../../finance/figure.ts'
import {
  DECIMAL,
  named,
  nonNegativeInteger,
  pagination,
  text,
  UNSIGNED_INTEGER,
  withWords,
} from '../../../lib/text/text_format.ts'
import { limitedBy, withdrawable } from '../../lending/withdrawal.ts'
import { VAULT_CODES } from './figures.ts'

const raw = withWords('Smallest units', text(UNSIGNED_INTEGER))
const amount = withWords('Whole tokens, all digits; null without decimals', v.nullable(text(DECIMAL)))
const timeSec = (words: string) => withWords(words, v.nullable(nonNegativeInteger))
const describeAmount = (words: string) => v.pipe(v.nullable(v.strictObject({ raw, amount })), v.description(words))

const row = named(
  'VaultPosition',
  'What a wallet has in one vault',
  v.strictObject({
    chain_id: chainId,
    wallet: withWords('The wallet', evmAddress),
    vault: withWords(
      'The vault, which is the token of its shares',
      v.strictObject({
        address: withWords('Its contract', evmAddress),
        kind: v.pipe(
          v.nullable(v.picklist(VAULT_CODES)),
          v.description(
            'metamorpho, morpho_vault_v2: made by a factory of Morpho; erc4626_silo, erc4626_window: shares go back after ' +
              'a cooldown; null if it does not answer',
          ),
        ),
        name: withWords('As the vault itself tells it; null if it does not answer', v.nullable(v.string())),
      }),
    ),
    asset: v.pipe(
      v.nullable(
        v.strictObject({
          address: withWords('Its contract', evmAddress),
          symbol: withWords('As the token itself tells it', v.string()),
          decimals: withWords('Digits of its smallest unit; null if unknown', v.nullable(nonNegativeInteger)),
        }),
      ),
      v.description('The token inside; null if the vault does not answer'),
    ),
    shares: describeAmount('Shares of the wallet; null if the vault does not answer'),
    assets: describeAmount('What they are worth by the vault itself, in its asset; null if it does not tell'),
    value_usd: withWords(
      'US dollars of assets and of what is in a silo; null without a price, or if the vault does not tell',
      v.nullable(usd),
    ),
    withdrawable: v.pipe(withdrawable, v.description('What a withdrawal of all shares would pay now; null if unknown')),
    limited_by: v.pipe(limitedBy, v.description('The first reason why withdrawable is less than assets, else null')),
    cooldown: v.pipe(
      v.nullable(
        v.strictObject({
          of: withWords(
            'assets: they left the shares and wait in a silo; shares: they may go back within a window',
            v.picklist(['assets', 'shares']),
          ),
          raw,
          amount,
          usd: withWords('US dollars of assets; null without a price, and of shares', v.nullable(usd)),
          until: timeSec('End of the cooldown, Unix seconds'),
          window_until: timeSec('Last second at which shares can go back, Unix seconds; null of assets'),
          is_over: withWords('True while it can be taken out at the block', v.boolean()),
        }),
      ),
      v.description('What is in a cooldown; null if nothing is'),
    ),
    reason: withWords('Why figures are null; null if none is', v.nullable(v.string())),
  }),
)

export type PresentedRow = v.InferOutput<typeof row>

/** Success body of list and batch, without `request_id`. */
export const vaultsOutput = v.strictObject({ data: v.array(row), pagination })
