import type { Reply } from '../route/route.ts'

/** Formats the body of a success without its request id: a JSON object up to its closing brace. */
export function formatReply({ data, coverage, pagination, counts, receipt, citation }: Reply): string {
  if (data === undefined) throw new Error('Cannot answer without data')
  return JSON.stringify({ data, coverage, pagination, counts, receipt, citation }).slice(0, -1)
}

/** Completes a body with its request id. Request ids contain no character that JSON escapes. */
export function withRequestId(text: string, requestId: string): string {
  return `${text},"request_id":"${requestId}"}`
}
