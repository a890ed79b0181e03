import type { CallToolResult } from '@modelcontextprotocol/server'
import type { SettledAnswer } from '../http/exchange/exchange.ts'

/**
 * Converts the answer of an endpoint to a tool result: the body, as text too, then a sentence with blocks and price,
 * because many clients show only text to their model; or the error as text, with the time to wait before a retry.
 * `_meta` repeats the data of the HTTP headers.
 */
export function toToolResult(settled: SettledAnswer): CallToolResult {
  const { status, headers } = settled.answer
  // The answer to a caller that left has no body.
  const body = settled.answer.body || CALLER_LEFT
  const _meta = toMeta(settled)
  if (status === 200) {
    return {
      content: [
        { type: 'text', text: body },
        { type: 'text', text: formatCircumstances(settled) },
      ],
      structuredContent: JSON.parse(body),
      _meta,
    }
  }
  const { code, message, request_id: requestId } = JSON.parse(body).error
  const wait = headers['retry-after']
  const advice = wait === undefined ? '' : ` Try again in ${wait} s.`
  return {
    content: [{ type: 'text', text: `${code}: ${message}.${advice} (request_id ${requestId})` }],
    isError: true,
    _meta: { ..._meta, 'walletscope/status': status, 'walletscope/code': code },
  }
}

/** Returns the code of an error; undefined for a success. */
export function getErrorCode({ answer }: SettledAnswer): string | undefined {
  return answer.status < 400 || !answer.body ? undefined : JSON.parse(answer.body).error.code
}

function formatCircumstances({ answer, account }: SettledAnswer): string {
  const asOf = answer.headers['x-as-of']
  const read = asOf === undefined ? '' : `As of ${asOf.replaceAll(',', ', ')} (chain id:block). `
  const unwitnessed = answer.headers['x-unwitnessed']
  const doubt =
    unwitnessed === undefined ? '' : `Rests on the word of one endpoint: chain ${unwitnessed.replaceAll(',', ', ')}. `
  if (account === undefined) return `${read}${doubt}`.trim()
  return `${read}${doubt}Charged ${account.creditsCharged} credits, ${account.creditsRemaining} are left.`
}

const CALLER_LEFT = '{"error":{"code":"SERVICE_UNAVAILABLE","message":"The caller left","request_id":""}}'

function toMeta({ answer, account }: SettledAnswer): Record<string, unknown> {
  const { 'x-as-of': asOf, 'x-unwitnessed': unwitnessed } = answer.headers
  return {
    ...(asOf && { 'walletscope/as_of': asOf }),
    ...(unwitnessed && { 'walletscope/unwitnessed': unwitnessed }),
    ...(account && {
      'walletscope/credits_charged': account.creditsCharged,
      'walletscope/credits_remaining': String(account.creditsRemaining),
    }),
  }
}
