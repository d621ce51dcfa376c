"""Short messages whose subject is plain though they do not name it, in English and Chinese."""

from collections.abc import Mapping, Sequence

SUBJECTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "en": {
        "food": (
            "the soup needs another hour and more salt",
            "they served dumplings with garlic sauce",
            "her sourdough bread came out of the oven golden",
            "we peeled a whole sack of potatoes",
            "the cheese on the plate tasted of nuts",
            "nobody wanted a second helping of the stew",
        ),
        "sport": (
            "the goalkeeper saved two penalties",
            "she ran the marathon in under four hours",
            "the referee stopped the match after a foul",
            "our team lost the volleyball final",
            "he won the third set on his second serve",
            "the coach made everybody swim ten lengths",
        ),
        "weather": (
            "thick fog lay over the valley until noon",
            "hail broke some panes of the greenhouse",
            "a thunderstorm came up from the west",
            "it froze at night and thawed by lunch",
            "not one cloud was to be seen all day",
            "the wind turned and brought drizzle",
        ),
        "music": (
            "the violins were out of tune in the overture",
            "he practised scales on the piano",
            "the choir rehearsed the last hymn twice",
            "her drummer lost the beat in the chorus",
            "they played a tango as an encore",
            "the organ needs new pipes before the concert",
        ),
        "money": (
            "the bank turned down our loan",
            "my salary came two days late",
            "he paid off the mortgage at last",
            "the tax return is due on Friday",
            "interest on savings fell again",
            "she sold her shares at a loss",
        ),
        "travel": (
            "our flight was delayed and we missed the connection",
            "the hotel had lost the booking",
            "we took the night train across the border",
            "her suitcase went to another airport",
            "they need a visa for the last stage",
            "the ferry to the islands was full of tourists",
        ),
    },
    "zh": {
        "饮食": ("汤还要再炖一个小时", "他们端上来的饺子配蒜泥", "她烤的面包外皮金黄", "我们削了一整袋土豆"),
        "体育": ("守门员扑出了两个点球", "她不到四小时跑完了马拉松", "裁判因犯规中止了比赛", "我们队输掉了排球决赛"),
        "天气": ("浓雾到中午才从山谷散去", "冰雹砸坏了温室的玻璃", "西边来了一场雷阵雨", "夜里结冰，午前又化了"),
        "音乐": ("序曲里小提琴走了音", "他在钢琴上练音阶", "合唱团把最后一首排练了两遍", "鼓手在副歌里乱了拍子"),
        "钱财": ("银行没有批准我们的贷款", "我的工资晚了两天才到", "他终于还清了房贷", "存款利率又降了"),
        "旅行": ("航班晚点，没赶上转机", "旅馆弄丢了预订记录", "我们坐夜车过了边境", "去岛上的渡船挤满了游客"),
    },
}
OPENINGS: Mapping[str, Sequence[str]] = {
    "en": ("By the way", "As you know", "I hear", "Well", "To my surprise", "As usual", "Sadly", "In fact"),
    "zh": ("对了", "你知道", "听说", "哎", "没想到", "跟往常一样", "可惜", "其实"),
}
