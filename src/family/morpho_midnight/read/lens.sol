// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../../chain/call/page.sol';
import {Prices, PriceSources} from '../../../finance/price/prices.sol';
import {Tokens} from '../../../finance/token/tokens.sol';

interface IMidnight {
    function position(bytes32, address) external view;
    function collateral(bytes32, address, uint256) external view;
    function marketState(bytes32) external view;
}

interface IOracle {
    function price() external view;
}

/// Reads what one wallet has in markets of Morpho Midnight, and all that its figures depend on, in one `eth_call`. It is
/// never deployed: its code stands at an address for the length of one call, or runs as the creation code of one.
///
/// The terms of a market are the code at the low 20 bytes of its id. The contract's own figures are not asked: a market
/// may have 128 collaterals, and an oracle that fails takes them all away. Of the collaterals, at most 16, only those
/// that the wallet holds are read, and their oracles only where it owes. Calls to other contracts have a gas cap, the
/// oracles of a position one together, so that the worst result of an oracle is a missing answer.
///
/// The answer is a packed stream, big-endian, without padding; `abi.ts` decodes it.
///
///   header      as in `page.sol`, then u8 1 if Midnight answers
///   market      u8 0 if there is none, 2 if the wallet has nothing, 3 if Midnight fails, 4 if its terms cannot be read,
///               and that is all; else 1, u128 credit, pendingFee, lastLossFactor, lastAccrual, debt, collateralBitmap,
///               lossFactor, withdrawable, u16 length of the terms, terms, priced loan token, u8 number of collaterals,
///               and those, from the lowest bit on
///   collateral  u8 index, u128 amount, u8 1 if the oracle answered, u256 its price, priced token
///   priced token   as in `tokens.sol`; what is said about its price, as in `prices.sol`
///
/// A page ends early, and says so by `taken`, before gas could run out in the middle of a market.
contract Lens is LensPage, Tokens, Prices {
    /// Vaults that are priced through several feeds have taken a third of this.
    uint256 private constant ORACLE_GAS = 3_000_000;
    /// All oracles of one position.
    uint256 private constant ORACLES_GAS = 12_000_000;
    /// What Midnight itself and the writing of a market take, and some.
    uint256 private constant OWN_GAS = 1_000_000;

    /// Terms without collaterals, and of each of them: as `abi.encode` writes them.
    uint256 private constant TERMS_SIZE = 320;
    uint256 private constant COLLATERAL_SIZE = 128;
    uint256 private constant COLLATERALS_MAX = 128;

    struct Question {
        address midnight;
        address wallet;
        bytes32 id;
        /// Address in memory of the position, of the market's state and of its terms, and the length of these.
        uint256 position;
        uint256 state;
        uint256 terms;
        uint256 termsSize;
    }

    /// The wallet in these markets, in this order.
    function read(
        address midnight,
        address wallet,
        bytes32[] calldata ids,
        PriceSources calldata prices
    ) external view {
        (Page memory page, Question memory question) = open();
        question.midnight = midnight;
        question.wallet = wallet;
        begin(page);
        bool answers = readPosition(page, question);
        put(page, answers ? 1 : 0, 1);
        for (uint256 i = 0; answers && i < ids.length; i++) {
            question.id = ids[i];
            if (i > 0 && gasleft() < OWN_GAS) break;
            if (!market(page, question, prices, i > 0)) break;
            page.taken++;
        }
        page.checkpoint = page.cursor;
        finish(page);
    }

    /// False if the gas may not be enough for it; nothing is written then.
    function market(
        Page memory page,
        Question memory question,
        PriceSources calldata prices,
        bool mayWait
    ) private view returns (bool) {
        if (!readPosition(page, question)) return only(page, 3);
        uint256 position = question.position;
        uint256 debt = word(position + 128);
        uint256 bitmap = word(position + 160);
        address place = address(uint160(uint256(question.id)));
        if (word(position) | word(position + 32) | debt | bitmap == 0) return only(page, place.code.length == 0 ? 0 : 2);
        uint256 held = count(bitmap);
        uint256 gasMax = OWN_GAS + (held + 1) * (TOKEN_GAS_MAX + priceGasMax(prices));
        if (debt != 0) gasMax += ORACLES_GAS;
        if (mayWait && gasleft() < gasMax) return false;
        if (!readState(page, question)) return only(page, 3);
        if (!readTerms(question, place) || bitmap >> collaterals(question) != 0) return only(page, 4);
        put(page, 1, 1);
        for (uint256 i = 0; i < 6; i++) put(page, word(position + i * 32), 16);
        put(page, word(question.state + 32), 16);
        put(page, word(question.state + 64), 16);
        put(page, question.termsSize, 2);
        uint256 end = page.cursor + question.termsSize;
        for (uint256 i = 0; i < question.termsSize; i += 32) put(page, word(question.terms + i), 32);
        page.cursor = end;
        priced(page, at(question.terms + 96), prices);
        put(page, held, 1);
        uint256 oraclesGas = debt == 0 ? 0 : ORACLES_GAS;
        for (uint256 i = 0; bitmap >> i != 0; i++) {
            if ((bitmap >> i) & 1 == 1) oraclesGas = collateral(page, question, prices, i, oraclesGas);
        }
        return true;
    }

    /// Returns the gas that is left for oracles.
    function collateral(
        Page memory page,
        Question memory question,
        PriceSources calldata prices,
        uint256 index,
        uint256 oraclesGas
    ) private view returns (uint256) {
        argument(page, 0, uint256(question.id));
        argument(page, 1, uint160(question.wallet));
        argument(page, 2, index);
        (bool ok, uint256 size) = askFor(page, question.midnight, IMidnight.collateral.selector, 100, CONTRACT_GAS, 32);
        put(page, index, 1);
        // A set bit is an amount above zero: zero says that it was not answered.
        put(page, ok && size >= 32 ? word(page.answer) : 0, 16);
        uint256 terms = question.terms + TERMS_SIZE + index * COLLATERAL_SIZE;
        uint256 gasMax = oraclesGas < ORACLE_GAS ? oraclesGas : ORACLE_GAS;
        uint256 before = gasleft();
        if (gasMax == 0) (ok, size) = (false, 0);
        else (ok, size) = askFor(page, at(terms + 96), IOracle.price.selector, 4, gasMax, 32);
        uint256 used = before - gasleft();
        ok = ok && size >= 32;
        put(page, ok ? 1 : 0, 1);
        put(page, ok ? word(page.answer) : 0, 32);
        priced(page, at(terms), prices);
        return used < oraclesGas ? oraclesGas - used : 0;
    }

    function readPosition(Page memory page, Question memory question) private view returns (bool) {
        argument(page, 0, uint256(question.id));
        argument(page, 1, uint160(question.wallet));
        return readInto(page, question.midnight, IMidnight.position.selector, 68, question.position, 192);
    }

    function readState(Page memory page, Question memory question) private view returns (bool) {
        argument(page, 0, uint256(question.id));
        return readInto(page, question.midnight, IMidnight.marketState.selector, 36, question.state, 96);
    }

    function readInto(
        Page memory page,
        address target,
        bytes4 selector,
        uint256 questionSize,
        uint256 place,
        uint256 bytesWanted
    ) private view returns (bool ok) {
        uint256 size;
        uint256 answer = page.answer;
        page.answer = place;
        (ok, size) = askFor(page, target, selector, questionSize, CONTRACT_GAS, bytesWanted);
        page.answer = answer;
        return ok && size >= bytesWanted;
    }

    /// Copies the terms; false if they do not have the shape of a market's.
    function readTerms(Question memory question, address place) private view returns (bool) {
        uint256 size = place.code.length;
        uint256 terms = question.terms;
        if (size < TERMS_SIZE || size > TERMS_SIZE + COLLATERALS_MAX * COLLATERAL_SIZE) return false;
        assembly ("memory-safe") {
            extcodecopy(place, terms, 0, size)
        }
        question.termsSize = size;
        return
            word(terms) == 32 &&
            word(terms + 128) == 256 &&
            size == TERMS_SIZE + collaterals(question) * COLLATERAL_SIZE;
    }

    function collaterals(Question memory question) private pure returns (uint256) {
        return word(question.terms + 288) % (COLLATERALS_MAX + 1);
    }

    function priced(Page memory page, address token, PriceSources calldata prices) private view {
        describe(page, token);
        page.cursor = writePrice(prices, token, page.cursor);
    }

    function only(Page memory page, uint256 record) private pure returns (bool) {
        put(page, record, 1);
        return true;
    }

    function count(uint256 bits) private pure returns (uint256 ones) {
        for (; bits != 0; bits &= bits - 1) ones++;
    }

    function at(uint256 place) private pure returns (address) {
        return address(uint160(word(place)));
    }

    function open() private pure returns (Page memory page, Question memory question) {
        page.question = reserve(128);
        page.answer = reserve(352);
        question.position = reserve(192);
        question.state = reserve(96);
        question.terms = reserve(TERMS_SIZE + COLLATERALS_MAX * COLLATERAL_SIZE + 32);
    }

    /// A page ends between two markets.
    function beforeCall(Page memory, uint256) internal view override {}
}
