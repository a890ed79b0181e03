// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../page.sol';

/// Runs steps as a wallet, notes what arrives, and undoes all of it, in one `eth_call`. The same code stands at three
/// kinds of addresses: at the lens's, which is asked; at the wallet's, which runs the steps, so that every contract sees
/// the wallet; and at those of contracts that lend their tokens to it.
///
/// Call data of the lens and of the wallet: the wallet's address; u8 0, or 2 if each unit is undone before the next one;
/// u8 number of tokens, their addresses; units until the end. A unit: u8 number of steps. A step: u8 flags, 1: only if the step before failed,
/// the other bits: number of the group of contracts that may be hostile, 0 none; u24 gas; u16 size of the rest;
/// u8 number of tokens to watch, u8 index of each; calls. A call: u8 flags; address; u16 size, data; flag 2: the word of
/// the data at u16 is the least of itself and of what the address answers to u16 size, question; flag 4: the contract is
/// what the address answers to bytes4; flag 64: u256 of the native token goes along; flag 1: it may fail. Flag 8: no call,
/// but as many tokens as the first word of the data says, from the first of the addresses after it that has them and does
/// not refuse. Flag 16: the call is the swap of a pool of Uniswap V3, which is paid with the token that the data ends with;
/// flag 32: of as much as the swap before it brought. One that is not paid all of its amount fails.
///
/// The answer is the header of `page.sol`, where taken counts units, and u32 size of the code that stands at the wallet,
/// 2^32 - 1 if it is this one; then, for each step of the units taken, u8 outcome. 1, done: u8 lender from 1, 0 none, a
/// word if there is one, what was lent, and a word for each token, by how much the balance grew. 2, reverted: u8 size and
/// reason. 3: it takes too much gas. 4: not needed. 5: done, but a balance cannot be read. 6, no lender pays the tokens: u8
/// size and reason of the last that has them.
contract Lens is LensPage {
    /// What a step takes besides its own gas, and the answer.
    uint256 private constant REST_GAS = 600_000;
    uint256 private constant BALANCE_GAS = 120_000;
    uint256 private constant QUESTION_GAS = 500_000;
    /// Of 256 parts of the gas: with fewer left, want of gas may be why a call failed. Each of the contracts that call one
    /// another keeps a 64th: 18 of them are told from a contract that refuses, which takes far less.
    uint256 private constant PARTS_LEFT = 64;
    uint256 private constant REASON_MAX = 255;
    uint256 private constant TOKENS_MAX = 16;
    uint256 private constant BODY_MAX = 16_384;
    /// Modes of a question, besides 0: to a contract that lends, and to try each unit by itself.
    uint256 private constant LEND = 1;
    uint256 private constant ALONE = 2;
    /// Begins a question of the wallet to itself about one unit: no call has such flags.
    uint256 private constant ISOLATED = 128;
    /// Begins what the wallet reverts with.
    bytes32 private constant MARK = keccak256('walletscope.exit');
    /// Set while the steps run.
    bytes32 private constant LOCK = keccak256('walletscope.exit.lock');
    /// The pool that is sold to, while it is.
    bytes32 private constant POOL = keccak256('walletscope.exit.pool');
    /// Where the data of a swap has its amount, and what the pool calls back with has the token.
    uint256 private constant AMOUNT_AT = 68;
    uint256 private constant TOKEN_AT = 144;

    uint256 private constant DONE = 1;
    uint256 private constant REVERTED = 2;
    uint256 private constant TOO_COSTLY = 3;
    uint256 private constant SKIPPED = 4;
    uint256 private constant UNREADABLE = 5;
    uint256 private constant UNFUNDED = 6;
    uint256 private constant SUSPECTED = 7;
    /// Steps that a group, and all groups, may use up the gas of, as in `strike.ts`.
    uint256 private constant STRIKES_MAX = 2;
    uint256 private constant ALL_STRIKES_MAX = 10;
    uint256 private constant GROUPS = 128;

    receive() external payable {}

    /// Callers that are not part of this are answered as an account without code would.
    fallback() external payable {
        if (msg.sender == address(this)) return byteAt(0) == ISOLATED ? runIsolated() : perform();
        if (msg.data.length < 22) return;
        if (isLocked()) {
            if (msg.sender == buyer()) pay();
            return;
        }
        if (addressAt(0) != address(this)) return forward();
        if (byteAt(20) == LEND) {
            if (msg.sender == borrower()) lend();
        } else if (msg.sender.codehash == address(this).codehash) execute();
    }

    // At the lens's address.

    /// Asks the wallet. Its answer is copied to where the question was: nothing is called in between.
    function forward() private {
        address wallet = addressAt(0);
        Page memory page;
        begin(page);
        bool isRunner = wallet.codehash == address(this).codehash;
        put(page, isRunner ? type(uint32).max : wallet.code.length, 4);
        bytes32 mark = MARK;
        uint256 place = page.cursor;
        uint256 size;
        uint256 taken;
        assembly ("memory-safe") {
            let ok := 1
            if isRunner {
                calldatacopy(place, 0, calldatasize())
                ok := call(gas(), wallet, 0, place, calldatasize(), 0, 0)
            }
            if and(iszero(ok), gt(returndatasize(), 35)) {
                returndatacopy(place, 0, 36)
                if eq(mload(place), mark) {
                    size := sub(returndatasize(), 36)
                    taken := and(mload(add(place, 4)), 0xffffffff)
                    returndatacopy(place, 36, size)
                }
            }
        }
        page.taken = taken;
        page.checkpoint = place + size;
        finish(page);
    }

    // At the wallet's address.

    /// Runs the units, as many as the gas is enough for, and reverts with the mark, u32 taken and their outcomes.
    function execute() private {
        lock();
        (Page memory page, Step memory step) = prepare(22);
        put(page, uint256(MARK), 32);
        put(page, 0, 4);
        page.checkpoint = page.cursor;
        bool isAlone = byteAt(20) == ALONE;
        uint256 head = step.tokens + 20 * byteAt(21);
        for (uint256 at = head; at < msg.data.length; ) {
            uint256 next = findEnd(at);
            if (!(isAlone ? isolate(page, head, at, next) : runUnit(page, step, at))) break;
            at = next;
            page.taken++;
            page.checkpoint = page.cursor;
        }
        uint256 start = page.start;
        uint256 end = page.checkpoint;
        uint256 taken = page.taken;
        assembly ("memory-safe") {
            let place := add(start, 4)
            mstore(place, or(and(mload(place), not(0xffffffff)), taken))
            revert(start, sub(end, start))
        }
    }

    /// Reserves memory; `tokens`: where the data has them.
    function prepare(uint256 tokens) private pure returns (Page memory page, Step memory step) {
        step.tokens = tokens;
        step.held = new uint256[](TOKENS_MAX);
        step.strikes = new uint256[](GROUPS);
        step.body = reserve(BODY_MAX);
        page.start = reserve(0);
        page.cursor = page.start;
    }

    /// The end of a unit.
    function findEnd(uint256 at) private pure returns (uint256 end) {
        end = at + 1;
        for (uint256 i = byteAt(at); i > 0; i--) end += 6 + numberAt(end + 4, 2);
    }

    /// Runs a unit in a frame of its own, which is undone, and writes its outcomes. False if the gas is not enough for it.
    function isolate(Page memory page, uint256 head, uint256 from, uint256 end) private returns (bool isWhole) {
        uint256 mode = ISOLATED;
        uint256 place = page.cursor;
        uint256 size;
        assembly ("memory-safe") {
            let length := sub(end, from)
            mstore8(place, mode)
            calldatacopy(add(place, 1), 0, head)
            calldatacopy(add(add(place, 1), head), from, length)
            pop(call(gas(), address(), 0, place, add(add(head, length), 1), 0, 0))
            size := returndatasize()
            returndatacopy(place, 0, size)
        }
        page.cursor = place + size;
        return size > 0;
    }

    /// That frame: reverts with the outcomes, or nothing.
    function runIsolated() private {
        (Page memory page, Step memory step) = prepare(23);
        bool isWhole = runUnit(page, step, step.tokens + 20 * byteAt(22));
        uint256 start = page.start;
        uint256 end = isWhole ? page.cursor : start;
        assembly ("memory-safe") {
            revert(start, sub(end, start))
        }
    }

    /// Runs the steps of a unit and writes their outcomes. False if the gas is not enough for one.
    function runUnit(Page memory page, Step memory step, uint256 at) private returns (bool) {
        bool hasFailed = false;
        for (uint256 left = byteAt(at++); left > 0; left--) {
            uint256 flags = byteAt(at);
            step.gasMax = numberAt(at + 1, 3);
            step.size = numberAt(at + 4, 2);
            step.at = at + 6;
            at = step.at + step.size;
            step.group = flags >> 1;
            if (flags & 1 != 0 && !hasFailed) {
                put(page, SKIPPED, 1);
            } else if (isStruck(step)) {
                put(page, SUSPECTED, 1);
                hasFailed = true;
            } else if (gasleft() < step.gasMax * 65 / 64 + REST_GAS) {
                return false;
            } else {
                hasFailed = !run(page, step);
            }
        }
        return true;
    }

    struct Step {
        uint256 tokens;
        uint256 at;
        uint256 size;
        uint256 gasMax;
        uint256 group;
        uint256 body;
        uint256[] held;
        /// By group; of all groups at 0.
        uint256[] strikes;
    }

    function isStruck(Step memory step) private pure returns (bool) {
        uint256[] memory strikes = step.strikes;
        return step.group != 0 && (strikes[step.group] >= STRIKES_MAX || strikes[0] >= ALL_STRIKES_MAX);
    }

    /// Runs a step in a frame of its own, so that all of it is undone if a part fails, and writes its outcome.
    function run(Page memory page, Step memory step) private returns (bool ok) {
        uint256[] memory held = step.held;
        uint256 count = byteAt(step.at);
        if (count > TOKENS_MAX || step.size > BODY_MAX) revert();
        bool isKnown = true;
        for (uint256 j = 0; j < count; j++) {
            bool known;
            (known, held[j]) = balance(addressAt(step.tokens + 20 * byteAt(step.at + 1 + j)), address(this));
            isKnown = isKnown && known;
        }
        uint256 skipped = 1 + count;
        uint256 size;
        uint256 answer;
        uint256 lent;
        {
            uint256 from = step.at + skipped;
            uint256 length = step.size - skipped;
            uint256 body = step.body;
            uint256 gasMax = step.gasMax;
            assembly ("memory-safe") {
                calldatacopy(body, from, length)
                ok := call(gasMax, address(), 0, body, length, 0, 0)
                size := returndatasize()
                if gt(size, 256) { size := 256 }
                returndatacopy(body, 0, size)
                answer := mload(body)
                lent := mload(add(body, 32))
            }
        }
        if (!ok) {
            uint256 outcome = size == 0 ? TOO_COSTLY : answer >> 248;
            put(page, outcome, 1);
            if (outcome == TOO_COSTLY && step.group != 0) {
                step.strikes[0]++;
                step.strikes[step.group]++;
            }
            if (outcome != REVERTED && outcome != UNFUNDED) return ok;
            put(page, size - 1, 1);
            uint256 end = page.cursor + size - 1;
            for (uint256 j = 1; j < size; j += 32) put(page, word(step.body + j), 32);
            page.cursor = end;
            return ok;
        }
        uint256 outcomeAt = page.cursor;
        put(page, DONE, 1);
        put(page, answer, 1);
        if (answer != 0) put(page, lent, 32);
        for (uint256 j = 0; j < count; j++) {
            (bool known, uint256 value) = balance(addressAt(step.tokens + 20 * byteAt(step.at + 1 + j)), address(this));
            isKnown = isKnown && known;
            unchecked {
                put(page, value - held[j], 32);
            }
        }
        if (isKnown) return ok;
        page.cursor = outcomeAt;
        put(page, UNREADABLE, 1);
    }

    /// The calls of a step, called by the wallet itself. Returns the number of the lender and what was lent, reverts with the
    /// outcome and the reason.
    function perform() private {
        uint256 lender = 0;
        uint256 lent = 0;
        uint256 brought = 0;
        for (uint256 at = 0; at < msg.data.length; ) {
            uint256 flags = byteAt(at);
            address target = addressAt(at + 1);
            uint256 size = numberAt(at + 21, 2);
            uint256 place = copy(at + 23, size);
            at += 23 + size;
            if (flags & 8 != 0) {
                (lender, lent) = borrow(target, place, size);
                continue;
            }
            if (flags & 2 != 0) {
                uint256 offset = numberAt(at, 2);
                uint256 questionSize = numberAt(at + 22, 2);
                uint256 answer = question(addressAt(at + 2), copy(at + 24, questionSize), questionSize);
                if (answer < word(place + offset)) set(place + offset, answer);
                at += 24 + questionSize;
            }
            if (flags & 4 != 0) {
                target = address(uint160(question(target, copy(at, 4), 4)));
                at += 4;
            }
            uint256 value = 0;
            if (flags & 64 != 0) {
                value = numberAt(at, 32);
                at += 32;
            }
            uint256 gasBefore = gasleft();
            bool ok;
            if (flags & 16 != 0) {
                if (flags & 32 != 0) set(place + AMOUNT_AT, brought);
                (ok, brought) = swap(target, place, size);
            } else {
                assembly ("memory-safe") {
                    ok := call(gas(), target, value, place, size, 0, 0)
                }
            }
            if (!ok && flags & 1 == 0) fail(gasleft() < gasBefore * PARTS_LEFT / 256 ? TOO_COSTLY : REVERTED);
        }
        assembly ("memory-safe") {
            mstore(0, lender)
            mstore(32, lent)
            return(0, 64)
        }
    }

    /// Takes tokens from the first lender that has enough of them and pays all; what another paid is undone. The data is the
    /// amount and the lenders.
    function borrow(address token, uint256 place, uint256 size) private returns (uint256 lender, uint256 lent) {
        uint256 amount = word(place);
        (, uint256 before) = balance(token, address(this));
        uint256 reason = reserve(REASON_MAX + 1);
        uint256 reasonSize;
        for (uint256 i = 0; 32 + 20 * i < size; i++) {
            address each = address(uint160(word(place + 32 + 20 * i) >> 96));
            (bool known, uint256 has) = balance(token, each);
            if (!known || has < amount) continue;
            bool ok;
            assembly ("memory-safe") {
                let request := mload(0x40)
                mstore(request, shl(96, each))
                mstore8(add(request, 20), 1)
                mstore(add(request, 21), shl(96, token))
                mstore(add(request, 41), amount)
                ok := call(gas(), each, 0, request, 73, 0, 0)
            }
            if (!ok) {
                reasonSize = copyReason(reason + 1);
                continue;
            }
            (, uint256 held) = balance(token, address(this));
            unchecked {
                return (i + 1, held - before);
            }
        }
        uint256 outcome = UNFUNDED;
        assembly ("memory-safe") {
            mstore8(reason, outcome)
            revert(reason, add(reasonSize, 1))
        }
    }

    /// Calls the swap of a pool, and returns what it brought. One that takes less than all of the amount fails.
    function swap(address pool, uint256 place, uint256 size) private returns (bool ok, uint256 brought) {
        bytes32 slot = POOL;
        uint256 amount = word(place + AMOUNT_AT);
        assembly ("memory-safe") {
            sstore(slot, pool)
            ok := call(gas(), pool, 0, place, size, 0, 0)
            sstore(slot, 0)
            ok := and(ok, gt(returndatasize(), 63))
            if ok {
                returndatacopy(0, 0, 64)
                let paid := mload(0)
                let change := mload(32)
                if sgt(change, paid) {
                    paid := change
                    change := mload(0)
                }
                brought := sub(0, change)
                ok := eq(paid, amount)
            }
        }
    }

    function buyer() private view returns (address pool) {
        bytes32 slot = POOL;
        assembly ("memory-safe") {
            pool := sload(slot)
        }
    }

    /// Pays the pool what it asks for: the one of its two amounts that is above zero.
    function pay() private {
        if (msg.data.length < TOKEN_AT + 20) return;
        uint256 amount = numberAt(4, 32);
        if (int256(amount) <= 0) amount = numberAt(36, 32);
        if (!transfer(addressAt(TOKEN_AT), msg.sender, amount)) refuse();
    }

    // At the address of a contract that lends: the wallet's address is the end of its code.

    function borrower() private pure returns (address wallet) {
        assembly ("memory-safe") {
            codecopy(0, sub(codesize(), 32), 32)
            wallet := and(mload(0), 0xffffffffffffffffffffffffffffffffffffffff)
        }
    }

    /// Reverts with the reason of the token, or without one if less arrives than was asked for.
    function lend() private {
        address token = addressAt(21);
        uint256 amount = numberAt(41, 32);
        address wallet = msg.sender;
        (, uint256 before) = balance(token, wallet);
        if (!transfer(token, wallet, amount)) refuse();
        (, uint256 held) = balance(token, wallet);
        if (held < before || held - before < amount) revert();
    }

    function transfer(address token, address to, uint256 amount) private returns (bool ok) {
        assembly ("memory-safe") {
            let place := mload(0x40)
            mstore(place, 0xa9059cbb00000000000000000000000000000000000000000000000000000000)
            mstore(add(place, 4), to)
            mstore(add(place, 36), amount)
            ok := call(gas(), token, 0, place, 68, 0, 0)
        }
    }

    /// Reverts with the first bytes of what the last call returned.
    function refuse() private pure {
        uint256 reason = reserve(REASON_MAX);
        uint256 size = copyReason(reason);
        assembly ("memory-safe") {
            revert(reason, size)
        }
    }

    /// Reverts with an outcome and the first bytes of what the last call returned.
    function fail(uint256 outcome) private pure {
        uint256 place = reserve(REASON_MAX + 1);
        uint256 size = copyReason(place + 1);
        assembly ("memory-safe") {
            mstore8(place, outcome)
            revert(place, add(size, 1))
        }
    }

    /// Copies the first bytes of what the last call returned.
    function copyReason(uint256 place) private pure returns (uint256 size) {
        assembly ("memory-safe") {
            size := returndatasize()
            if gt(size, REASON_MAX) { size := REASON_MAX }
            returndatacopy(place, 0, size)
        }
    }

    /// The answer of a contract; ends the step without one.
    function question(address from, uint256 place, uint256 size) private view returns (uint256 answer) {
        bool ok;
        assembly ("memory-safe") {
            ok := staticcall(QUESTION_GAS, from, place, size, 0, 32)
            ok := and(ok, gt(returndatasize(), 31))
            answer := mload(0)
        }
        if (!ok) fail(REVERTED);
    }

    /// Copies call data to memory of its own.
    function copy(uint256 from, uint256 size) private pure returns (uint256 place) {
        place = reserve((size + 63) & ~uint256(31));
        assembly ("memory-safe") {
            calldatacopy(place, from, size)
        }
    }

    /// Of an address. The zero address is the native token.
    function balance(address token, address owner) private view returns (bool ok, uint256 value) {
        if (token == address(0)) return (true, owner.balance);
        assembly ("memory-safe") {
            mstore(0, 0x70a0823100000000000000000000000000000000000000000000000000000000)
            mstore(4, owner)
            ok := staticcall(BALANCE_GAS, token, 0, 36, 0, 32)
            ok := and(ok, gt(returndatasize(), 31))
            value := mul(mload(0), ok)
        }
    }

    function lock() private {
        bytes32 slot = LOCK;
        assembly ("memory-safe") {
            sstore(slot, 1)
        }
    }

    function isLocked() private view returns (bool locked) {
        bytes32 slot = LOCK;
        assembly ("memory-safe") {
            locked := sload(slot)
        }
    }

    function byteAt(uint256 at) private pure returns (uint256) {
        return numberAt(at, 1);
    }

    function addressAt(uint256 at) private pure returns (address) {
        return address(uint160(numberAt(at, 20)));
    }

    function numberAt(uint256 at, uint256 size) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := shr(sub(256, mul(8, size)), calldataload(at))
        }
    }

    function beforeCall(Page memory, uint256) internal view override {}
}
