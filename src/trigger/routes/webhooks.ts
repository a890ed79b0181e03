import * as v from 'valibot'
import { messageRedeliver } from '../../../sql/queries.ts'
import { instantFrom, instantTo } from '../../http/request/input.ts'
import { idParameter, integerBetween, label } from '../../http/request/schema.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { CodedError } from '../../lib/error.ts'
import { AddressError, resolveWebhookTarget } from '../deliver/address.ts'
import { deriveWebhookSecret, formatPublicKey } from '../deliver/sign.ts'
import {
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  rotateWebhook,
  updateWebhook,
  type Webhook,
  type WebhookKey,
} from '../webhook.ts'
import { FEATURE, LIST_READ, MUTATION, PASS_THROUGH, SINGLE_READ, type TriggerServices } from './route_parts.ts'
import {
  countData,
  idOutput,
  redeliveredOutput,
  secretOutput,
  toIsoOrNull,
  webhookOutput,
  webhooksOutput,
} from './schema.ts'
import { sendTest } from './test_message.ts'

const NAME_LENGTH_MAX = 100
const OVERLAP_SEC = 86_400
const OVERLAP_SEC_MAX = 7 * 86_400
const REDELIVER_IDS_MAX = 1_000
const REDELIVER_MAX = 10_000
const REDELIVER_MS = 8_000

const oneInput = v.object({ id: v.pipe(idParameter, v.description('Id of the webhook.')) })
const name = label(NAME_LENGTH_MAX)
const url = v.string('expected a URL')
const messageId = v.pipe(v.string('expected ids of messages'), v.uuid('expected ids of messages'))
const EXPECTED_IDS = `expected 1 to ${REDELIVER_IDS_MAX} ids of messages`

const redeliverBody = v.pipe(
  v.strictObject({
    ids: v.optional(
      v.pipe(
        v.array(messageId, EXPECTED_IDS),
        v.minLength(1, EXPECTED_IDS),
        v.maxLength(REDELIVER_IDS_MAX, EXPECTED_IDS),
      ),
    ),
    from: v.optional(instantFrom),
    to: v.optional(instantTo),
    after: v.optional(messageId),
  }),
  v.check(
    ({ ids, from, to }) => [from, to].every((each) => (each === undefined) === (ids !== undefined)),
    'Cannot read the body: expected either ids, or from and to',
  ),
  v.check(
    ({ ids, after }) => ids === undefined || after === undefined,
    'Cannot read the body: expected after beside from and to alone',
  ),
)

/** The routes of webhooks, which receive messages of triggers. */
export function webhookRoutes(services: () => TriggerServices): readonly Route[] {
  const present = async (webhook: Webhook) => ({
    id: webhook.id,
    url: webhook.url,
    name: webhook.name,
    public_key: formatPublicKey((await services().keys()).key),
    status: webhook.status,
    failing_since: toIsoOrNull(webhook.failing_since),
    overlap_until: toIsoOrNull(webhook.overlap_until),
    created_at: webhook.created_at.toISOString(),
  })
  const readShown = async (key: WebhookKey) => ({ data: await present(await findWebhook(services().db, key)) })
  /** The webhook with its secret, which is shown only when new. */
  const readRevealed = async (key: WebhookKey) => {
    const webhook = await findWebhook(services().db, key)
    const { master } = await services().keys()
    const secret = deriveWebhookSecret(master, { webhookId: webhook.id, generation: webhook.generation })
    return { data: { ...(await present(webhook)), secret } }
  }
  const parts = { ...FEATURE, input: oneInput, errors: [404] } as const
  const base = '/v1/webhooks'

  return [
    defineRoute({
      ...FEATURE,
      ...MUTATION,
      method: 'POST',
      path: base,
      summary: 'Makes a webhook: messages of triggers are posted there, signed as Standard Webhooks have it.',
      description: 'The secret is shown here and by rotate only. The URL must be https and lead to public addresses.',
      input: v.object({}),
      body: v.strictObject({ url, name: v.optional(name) }),
      output: secretOutput,
      async read(request, { organizationId }) {
        await checkUrl(request.url, services())
        const { url, name = '' } = request
        const id = await createWebhook(services().db, { organizationId, url, name })
        return await readRevealed({ organizationId, id })
      },
    }),
    defineRoute({
      ...FEATURE,
      ...PASS_THROUGH,
      ...LIST_READ,
      method: 'GET',
      path: base,
      summary: 'Lists the webhooks, oldest first.',
      input: v.object({}),
      output: webhooksOutput,
      read: async (_input, { organizationId }) => ({
        data: await Promise.all((await listWebhooks(services().db, organizationId)).map(present)),
      }),
      count: countData,
    }),
    defineRoute({
      ...parts,
      ...SINGLE_READ,
      method: 'GET',
      path: `${base}/:id`,
      summary: 'One webhook and its delivery health.',
      output: webhookOutput,
      read: (request, { organizationId }) => readShown({ organizationId, id: request.id }),
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'PATCH',
      path: `${base}/:id`,
      summary: 'Changes URL or name of a webhook, or starts one again that was stopped.',
      body: v.strictObject({
        url: v.optional(url),
        name: v.optional(name),
        status: v.optional(v.literal('active', 'expected "active"')),
      }),
      output: webhookOutput,
      async read(request, { organizationId }) {
        const key = { organizationId, id: request.id }
        if (request.url !== undefined) await checkUrl(request.url, services())
        await updateWebhook(services().db, key, {
          url: request.url,
          name: request.name,
          starts: request.status === 'active',
        })
        return await readShown(key)
      },
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'DELETE',
      path: `${base}/:id`,
      summary: 'Deletes a webhook that no trigger posts to. Pending messages are discarded.',
      output: idOutput,
      async read(request, { organizationId }) {
        await deleteWebhook(services().db, { organizationId, id: request.id })
        return { data: { id: request.id } }
      },
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'POST',
      path: `${base}/:id/rotate`,
      summary: 'Gives a webhook a new secret. Meanwhile messages are signed with both.',
      body: v.strictObject({ overlap_sec: v.optional(integerBetween(0, OVERLAP_SEC_MAX), OVERLAP_SEC) }),
      output: secretOutput,
      async read(request, { organizationId }) {
        const key = { organizationId, id: request.id }
        await rotateWebhook(services().db, { ...key, overlapSec: request.overlap_sec })
        return await readRevealed(key)
      },
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'POST',
      path: `${base}/:id/test`,
      summary: 'Posts a test message to a webhook, ten an hour at most.',
      output: idOutput,
      async read(request, { organizationId, requestedAtMs }) {
        const webhook = await findWebhook(services().db, { organizationId, id: request.id })
        const data = { webhook_id: webhook.id }
        const text = 'This is a test message of walletscope: this webhook works.'
        const testTarget = { organizationId, webhookId: webhook.id, triggerId: null, atMs: requestedAtMs }
        return { data: { id: await sendTest(services().db, { ...testTarget, text, data }) } }
      },
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'POST',
      path: `${base}/:id/redeliver`,
      summary: 'Redelivers failed messages of a webhook: those with these ids, or of this time.',
      description:
        `A request takes ${REDELIVER_MAX} messages at most, the oldest first; if there may be more, ask again with the ` +
        'after of the answer.',
      body: redeliverBody,
      output: redeliveredOutput,
      budgetMs: REDELIVER_MS,
      async read(request, { organizationId }) {
        const { db } = services()
        await findWebhook(db, { organizationId, id: request.id })
        const { ids = null, from = null, to = null, after = null } = request
        const selection = { organizationId, webhookId: request.id, ids, from, to, after, max: REDELIVER_MAX }
        const [row] = await messageRedeliver(db, selection, { deadlineMs: REDELIVER_MS })
        const { redelivered = 0, last = null } = row ?? {}
        const more = redelivered === REDELIVER_MAX
        return { data: { redelivered, more, after: more ? last : null } }
      },
    }),
  ]
}

async function checkUrl(text: string, { rules }: TriggerServices): Promise<void> {
  try {
    await resolveWebhookTarget(text, rules)
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    throw new CodedError('INVALID_PARAMETER', `Cannot read parameter "url": ${error.message}`)
  }
}
