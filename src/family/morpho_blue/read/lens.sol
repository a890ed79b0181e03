// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../../chain/call/page.sol';
import {Prices, PriceSources} from '../../../finance/price/prices.sol';
import {Tokens} from '../../../finance/token/tokens.sol';

interface IMorpho {
    function idToMarketParams(bytes32) external view;
    function market(bytes32) external view;
    function position(bytes32, address) external view;
    function feeRecipient() external view;
}

interface IOracle {
    function price() external view;
}

/// Reads what one wallet has in markets of Morpho Blue, and all that its figures depend on, in one `eth_call`. It is
/// never deployed: its code stands at an address for the length of one call, or runs as the creation code of one.
///
/// A market is read as it is stored, and again after the contract itself has accrued its interest, which the end of the
/// call undoes. Calls to other contracts have a gas cap, and only the first words of their answers are copied, so that
/// the worst result of an oracle or a token is a missing answer.
///
/// The answer is a packed stream, big-endian, without padding; `abi.ts` decodes it.
///
///   header    as in `page.sol`, then u8 1 if Morpho answers, address feeRecipient
///   market    u8 0 if there is none, 2 if the wallet has nothing, 3 if Morpho fails, and that is all; else 1,
///             address oracle, irm, u256 lltv, books, optional average rate since the last accrual, u8 1 if the contract
///             accrued, and then books after that and optional rate from then on; optional oracle price; the loan token
///             and the collateral token as in `tokens.sol`; what is said about the price of each, as in `prices.sol`
///   books     u128 totalSupplyAssets, totalSupplyShares, totalBorrowAssets, totalBorrowShares, lastUpdate, fee,
///             u256 supplyShares, u128 borrowShares, u128 collateral
///   optional  u8 1 if it is known, u256
///
/// A page ends early, and says so by `taken`, before gas could run out in the middle of a market.
contract Lens is LensPage, Tokens, Prices {
    uint256 private constant ACCRUE_GAS = 1_500_000;
    uint256 private constant IRM_GAS = 1_000_000;
    /// Vaults that are priced through several feeds have taken a third of this.
    uint256 private constant ORACLE_GAS = 3_000_000;
    /// What Morpho itself and the writing of a market take, and some.
    uint256 private constant OWN_GAS = 400_000;
    /// What one market can burn, without the prices.
    uint256 private constant MARKET_GAS =
        ACCRUE_GAS + 2 * IRM_GAS + ORACLE_GAS + 2 * TOKEN_GAS_MAX + OWN_GAS;

    /// Where in the working memory the parts of a market stand: they are arguments of the rate model in this order.
    uint256 private constant MARKET = 160;
    uint256 private constant POSITION = 352;

    struct Question {
        address morpho;
        address wallet;
        bytes32 id;
        /// Parameters, market and position.
        uint256 books;
        address feeRecipient;
    }

    /// The wallet in these markets, in this order.
    function read(
        address morpho,
        address wallet,
        bytes32[] calldata ids,
        PriceSources calldata prices
    ) external {
        (Page memory page, Question memory question) = open();
        question.morpho = morpho;
        question.wallet = wallet;
        begin(page);
        bool answers = ask(page, morpho, IMorpho.feeRecipient.selector, 32);
        if (answers) question.feeRecipient = address(uint160(word(page.answer)));
        put(page, answers ? 1 : 0, 1);
        put(page, uint160(question.feeRecipient), 20);
        for (uint256 i = 0; answers && i < ids.length; i++) {
            if (i > 0 && gasleft() < MARKET_GAS + 2 * priceGasMax(prices)) break;
            question.id = ids[i];
            market(page, question, prices);
            page.taken++;
        }
        page.checkpoint = page.cursor;
        finish(page);
    }

    function market(Page memory page, Question memory question, PriceSources calldata prices) private {
        uint256 books = question.books;
        if (!readParams(page, question) || !readBooks(page, question)) return put(page, 3, 1);
        if (word(books + MARKET + 128) == 0) return put(page, 0, 1);
        uint256 position = books + POSITION;
        bool has = word(position) != 0 || word(position + 32) != 0 || word(position + 64) != 0;
        // Accruing gives shares to the fee recipient.
        if (!has && question.wallet != question.feeRecipient) return put(page, 2, 1);
        put(page, 1, 1);
        put(page, uint160(at(books, 2)), 20);
        put(page, uint160(at(books, 3)), 20);
        put(page, word(books + 128), 32);
        putBooks(page, books);
        accrual(page, question);
        (bool ok, uint256 size) = askFor(page, at(books, 2), IOracle.price.selector, 4, ORACLE_GAS, 32);
        optional(page, ok && size >= 32, word(page.answer));
        describe(page, at(books, 0));
        describe(page, at(books, 1));
        for (uint256 i = 0; i < 2; i++) page.cursor = writePrice(prices, at(books, i), page.cursor);
    }

    function accrual(Page memory page, Question memory question) private {
        address irm = at(question.books, 3);
        if (irm == address(0)) {
            optional(page, false, 0);
            return put(page, 0, 1);
        }
        rate(page, question.books, irm);
        if (!accrue(page, question) || !readBooks(page, question)) return put(page, 0, 1);
        put(page, 1, 1);
        putBooks(page, question.books);
        rate(page, question.books, irm);
    }

    function accrue(Page memory page, Question memory question) private returns (bool ok) {
        for (uint256 i = 0; i < 5; i++) argument(page, i, word(question.books + i * 32));
        address morpho = question.morpho;
        bytes4 selector = bytes4(keccak256('accrueInterest((address,address,address,address,uint256))'));
        uint256 data = page.question;
        assembly ("memory-safe") {
            mstore(data, or(selector, and(mload(data), shr(32, not(0)))))
            ok := call(ACCRUE_GAS, morpho, 0, data, 164, 0, 0)
        }
    }

    function rate(Page memory page, uint256 books, address irm) private view {
        for (uint256 i = 0; i < 11; i++) argument(page, i, word(books + i * 32));
        bytes4 selector = bytes4(
            keccak256(
                'borrowRateView((address,address,address,address,uint256),(uint128,uint128,uint128,uint128,uint128,uint128))'
            )
        );
        (bool ok, uint256 size) = askFor(page, irm, selector, 356, IRM_GAS, 32);
        optional(page, ok && size >= 32, word(page.answer));
    }

    function readParams(Page memory page, Question memory question) private view returns (bool ok) {
        argument(page, 0, uint256(question.id));
        return readInto(page, question, IMorpho.idToMarketParams.selector, 36, 0, 160);
    }

    /// The market and the position in it.
    function readBooks(Page memory page, Question memory question) private view returns (bool ok) {
        argument(page, 0, uint256(question.id));
        argument(page, 1, uint160(question.wallet));
        return
            readInto(page, question, IMorpho.market.selector, 36, MARKET, 192) &&
            readInto(page, question, IMorpho.position.selector, 68, POSITION, 96);
    }

    function readInto(
        Page memory page,
        Question memory question,
        bytes4 selector,
        uint256 questionSize,
        uint256 place,
        uint256 bytesWanted
    ) private view returns (bool ok) {
        uint256 size;
        uint256 answer = page.answer;
        page.answer = question.books + place;
        (ok, size) = askFor(page, question.morpho, selector, questionSize, CONTRACT_GAS, bytesWanted);
        page.answer = answer;
        return ok && size >= bytesWanted;
    }

    function putBooks(Page memory page, uint256 books) private pure {
        for (uint256 i = 0; i < 6; i++) put(page, word(books + MARKET + i * 32), 16);
        put(page, word(books + POSITION), 32);
        put(page, word(books + POSITION + 32), 16);
        put(page, word(books + POSITION + 64), 16);
    }

    function optional(Page memory page, bool known, uint256 value) private pure {
        put(page, known ? 1 : 0, 1);
        put(page, known ? value : 0, 32);
    }

    function at(uint256 books, uint256 index) private pure returns (address) {
        return address(uint160(word(books + index * 32)));
    }

    function open() private pure returns (Page memory page, Question memory question) {
        page.question = reserve(384);
        page.answer = reserve(352);
        question.books = reserve(448);
    }

    /// A page ends between two markets.
    function beforeCall(Page memory, uint256) internal view override {}
}
